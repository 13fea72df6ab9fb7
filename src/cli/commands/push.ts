/** `parley push`: lists the events that could not be delivered to webhooks, and sends them again. */
import { ConnectionError } from '../../client/index.ts';
import { isObject, reasonOf } from '../../base/index.ts';
import { A2AError, codecOf } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { timeOf } from '../program/render.ts';
import { columns } from '../program/table.ts';
import { dim, note, say, sayJson, word } from '../program/terminal.ts';
import { CONNECTION_FLAGS, type Target, targetOf } from '../remote/connection.ts';

interface DeadLetter {
  readonly taskId: string;
  readonly pushNotificationConfigId: string;
  readonly seq: number;
  readonly reason: string;
  readonly timestamp: string;
}

const { 'a2a-version': _version, 'trusted-origin': _origin, ...FLAGS } = CONNECTION_FLAGS;

export default defineCommand({
  name: 'push',
  operands: ['ACTION', 'URL', '[TASK]', '[CONFIG]'],
  about:
    'ACTION list shows your dead letters: the events that a webhook did not accept within a day. ACTION retry sends the events of a webhook again, starting with its first dead letter. CONFIG is the id of the push notification configuration.',
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
      const result = await ask(target, 'POST', path);
      const retried = Number(result['retried']);
      if (values.json) sayJson(result);
      else if (retried === 0) note('This webhook has no dead letters.');
      else say(`Sending the events again, starting with the first of ${retried} dead letters`);
      return EXIT.done;
    }
    if (task !== undefined && config === undefined) {
      throw usageError('parley push list needs CONFIG after TASK, or only the URL');
    }
    const folder = task && config ? webhookPath(task, config) : '';
    const { deadLetters } = await ask(target, 'GET', `${folder}/deadLetters`);
    const letters = Array.isArray(deadLetters) ? deadLetters.map(letterOf) : [];
    if (values.json) for (const letter of letters) sayJson(letter);
    else printTable(letters);
    return EXIT.done;
  },
});

function webhookPath(task: string, config: string): string {
  return `/tasks/${encodeURIComponent(task)}/pushNotificationConfigs/${encodeURIComponent(config)}`;
}

async function ask(
  { url, headers }: Target,
  method: string,
  path: string,
): Promise<Record<string, unknown>> {
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
  if (response.ok && isObject(body)) return body;
  throw codecOf('1.0', 'HTTP+JSON').decodeError(body, response.status, 'push');
}

function letterOf(raw: unknown): DeadLetter {
  if (!isObject(raw))
    throw new A2AError('invalidAgentResponse', 'The list of dead letters is invalid');
  const text = (name: string) => String(raw[name]);
  return {
    ...raw,
    taskId: text('taskId'),
    pushNotificationConfigId: text('pushNotificationConfigId'),
    seq: Number(raw['seq']),
    reason: text('reason'),
    timestamp: text('timestamp'),
  };
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
