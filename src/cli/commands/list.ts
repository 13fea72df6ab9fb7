/** `parley list`: lists the caller's tasks, the most recently changed first. */
import { MAX_TASK_PAGE, type Task } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, open } from '../remote/connection.ts';
import { option, wholeNumber } from '../program/flags.ts';
import { stateOf, timeOf } from '../program/render.ts';
import { columns, dim, note, say, sayJson, word } from '../program/terminal.ts';

const DEFAULT_LIMIT = '1000';

export default defineCommand({
  operands: ['URL'],
  about: 'Lists your tasks, the most recently changed first.',
  flags: {
    limit: option('N', `The maximum number of tasks; ${DEFAULT_LIMIT} by default.`),
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
    for await (const task of agent.listAll({ pageSize: Math.min(limit, MAX_TASK_PAGE) })) {
      more = tasks.length === limit;
      if (more) break;
      tasks.push(task);
      if (json) sayJson(codec.encodeResult('getTask', task));
    }
    if (!json) printTable(tasks);
    if (more) note(`There are more than ${limit} tasks: use a larger --limit.`);
  },
});

function printTable(tasks: readonly Task[]): void {
  if (tasks.length === 0) {
    note('No tasks.');
    return;
  }
  const rows = tasks.map(({ id, contextId, status }) => [
    word(id),
    stateOf(status.state),
    dim(word(contextId)),
    timeOf(status.timestamp),
  ]);
  for (const line of columns([['id', 'state', 'context', 'updated'].map(dim), ...rows])) say(line);
}
