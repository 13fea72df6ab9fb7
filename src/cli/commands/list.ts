/** `parley list`: the tasks that the caller may see, newest first. */
import type { Task } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open } from '../remote/connection.ts';
import { EXIT } from '../program/exit.ts';
import { wholeNumber } from '../program/flags.ts';
import { stateOf, timeOf } from '../program/render.ts';
import { dim, note, say, sayJson, word } from '../program/terminal.ts';

const DEFAULT_LIMIT = '1000';
const MAX_PAGE = 100;

export default defineCommand({
  name: 'list',
  operands: ['URL'],
  about: 'Lists your tasks, the newest first.',
  flags: {
    limit: { type: 'string', value: 'N', help: `At most so many; ${DEFAULT_LIMIT} by default.` },
    ...CONNECTION_FLAGS,
  },
  examples: [
    'parley list http://127.0.0.1:41242',
    'parley list http://127.0.0.1:41242 --limit 10 --json',
  ],

  async run(input) {
    const { values } = input;
    const limit = wholeNumber('--limit', values.limit ?? DEFAULT_LIMIT, { min: 1, max: 1_000_000 });
    const { agent, codec, json } = await open(input);
    const tasks: Task[] = [];
    let more = false;
    for await (const task of agent.listAll({ pageSize: Math.min(limit, MAX_PAGE) })) {
      more = tasks.length === limit;
      if (more) break;
      tasks.push(task);
      if (json) sayJson(codec.encodeResult('getTask', task));
    }
    if (!json) printTable(tasks);
    if (more) note(`There are more: --limit shows more than ${limit}.`);
    return EXIT.done;
  },
});

function printTable(tasks: readonly Task[]): void {
  if (tasks.length === 0) {
    note('No tasks.');
    return;
  }
  const rows = tasks.map(({ id, contextId, status }) => ({
    id: word(id),
    state: status.state,
    context: word(contextId),
    updated: timeOf(status.timestamp),
  }));
  const width = (column: 'id' | 'state' | 'context') =>
    Math.max(column.length, ...rows.map((row) => row[column].length));
  const [id, state, context] = [width('id'), width('state'), width('context')];
  say(dim(`${'id'.padEnd(id)}  ${'state'.padEnd(state)}  ${'context'.padEnd(context)}  updated`));
  for (const row of rows) {
    const left = `${row.id.padEnd(id)}  ${stateOf(row.state, state)}`;
    say(`${left}  ${dim(row.context.padEnd(context))}  ${row.updated}`);
  }
}
