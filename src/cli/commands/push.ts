/** `parley push`: lists the events that could not be delivered to webhooks, and sends them again. */
import * as z from 'zod';
import { ConnectionError } from '../../client/index.ts';
import { reasonOf } from '../../base/index.ts';
import { codecOf } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { timeOf } from '../program/render.ts';
import { columns } from '../program/table.ts';
import { dim, note, say, sayJson, word } from '../program/terminal.ts';
import { CONNECTION_FLAGS, type Target, targetOf } from '../remote/connection.ts';

const DeadLetters = z.object({
  deadLetters: z.array(
    z.looseObject({
      taskId: z.string(),
      pushNotificationConfigId: z.string(),
      seq: z.int(),
      reason: z.string(),
      attempts: z.int(),
      timestamp: z.string(),
    }),
  ),
});
const Retried = z.object({ retried: z.int() });
type DeadLetter = z.infer<typeof DeadLetters>['deadLetters'][number];

const { 'a2a-version': _version, 'trusted-origin': _origin, ...FLAGS } = CONNECTION_FLAGS;

export default defineCommand({
  name: 'push',
  operands: ['ACTION', 'URL', '[TASK]', '[CONFIG]'],
  about:
    'Lists your dead letters (ACTION: list), which are events that a webhook did not take within a day, or sends the events of a webhook again, from its first dead letter on (retry). CONFIG is the id of the push notification configuration.',
  flags: FLAGS,
  examples: [
    'parley push list http://127.0.0.1:41242',
    'parley push list http://127.0.0.1:41242 0197f0c5-… my-hook --json',
    'parley push retry http://127.0.0.1:41242 0197f0c5-… my-hook',
  ],

  async run({ operands: [action, url, task, config], values, typed }) {
    if (action !== 'list' && action !== 'retry') {
      throw usageError(`unknown action "${action}": use parley push list or retry`);
    }
    const flags = { ...values, 'a2a-version': undefined, 'trusted-origin': [] };
    const target = targetOf({ operands: [url], values: flags, typed });
    if (action === 'retry') {
      if (task === undefined || config === undefined) {
        throw usageError('parley push retry needs URL TASK CONFIG: parley push list shows them');
      }
      const path = `${webhookPath(task, config)}/deadLetters:retry`;
      const result = Retried.parse(await ask(target, 'POST', path));
      if (values.json) sayJson(result);
      else if (result.retried === 0) note('This webhook has no dead letters.');
      else say(`Sending again from the first of ${result.retried} dead letters`);
      return EXIT.done;
    }
    if (task !== undefined && config === undefined) {
      throw usageError('parley push list needs CONFIG after TASK, or only the URL');
    }
    const folder = task && config ? webhookPath(task, config) : '';
    const { deadLetters } = DeadLetters.parse(await ask(target, 'GET', `${folder}/deadLetters`));
    if (values.json) for (const letter of deadLetters) sayJson(letter);
    else printTable(deadLetters);
    return EXIT.done;
  },
});

function webhookPath(task: string, config: string): string {
  return `/tasks/${encodeURIComponent(task)}/pushNotificationConfigs/${encodeURIComponent(config)}`;
}

async function ask({ url, headers }: Target, method: string, path: string): Promise<unknown> {
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
      method,
      headers: { ...headers, 'a2a-version': '1.0', 'content-type': 'application/json' },
      // The headers may contain credentials for this address only.
      redirect: 'error',
    });
    body = await response.json();
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    throw new ConnectionError('unreachable', `no answer from ${url}: ${reasonOf(cause)}`, {
      cause: error,
    });
  }
  if (response.ok) return body;
  throw codecOf('1.0', 'HTTP+JSON').decodeError(body, response.status, 'push');
}

function printTable(letters: readonly DeadLetter[]): void {
  if (letters.length === 0) {
    note('No dead letters.');
    return;
  }
  const rows = letters.map((letter) => [
    word(letter.taskId),
    word(letter.pushNotificationConfigId),
    String(letter.seq),
    timeOf(letter.timestamp),
    word(letter.reason),
  ]);
  const heads = ['task', 'config', 'event', 'given up', 'reason'].map(dim);
  for (const line of columns([heads, ...rows])) say(line);
}
