/**
 * `parley push`: lists the events that could not be delivered to webhooks, and sends them again. With a URL, it
 * requests the dead letters of the user's own tasks from the server. With `--store`, it reads the dead letters of all
 * owners from the task store, for the operator of the server.
 */
import { askRest } from '../../client/index.ts';
import { isObject, trimEndOf } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { MAX_DEAD_LETTERS } from '../../tasks/index.ts';
import { defineCommand } from '../program/command.ts';
import { usageError } from '../program/exit.ts';
import { type Environment, option, toggle } from '../program/flags.ts';
import { timeOf } from '../program/render.ts';
import { storeLocation } from '../program/store-location.ts';
import { columns, dim, note, say, sayJson, word } from '../program/terminal.ts';
import { CONNECTION_FLAGS, type Target, targetOf } from '../remote/connection.ts';

interface DeadLetter {
  /** The user and the tenant of the task. Only in a list from a task store. */
  readonly owner?: string;
  readonly tenant?: string;
  readonly taskId: string;
  readonly pushNotificationConfigId: string;
  readonly seq: number;
  readonly reason: string;
  readonly timestamp: string;
}

const EXAMPLE = 'parley push list http://127.0.0.1:41242';
const RETRY_NEEDS =
  'parley push retry needs URL TASK CONFIG: parley push list URL shows the tasks and the configs';

const { 'a2a-version': _version, 'trusted-origin': _origin, ...FLAGS } = CONNECTION_FLAGS;

export default defineCommand({
  operands: ['ACTION', '[URL]', '[TASK]', '[CONFIG]'],
  about:
    'The action list shows your dead letters: the events that the server no longer tries to deliver, because their webhook had failed for a day. The action retry sends the events of a webhook again, starting with its first dead letter. CONFIG is the id of the push notification configuration. The operator of a server can list the dead letters of all users with --store.',
  flags: {
    ...FLAGS,
    json: toggle('Print one JSON object per line.'),
    store: {
      ...option(
        'S',
        'List the dead letters of all users in a task store: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE. The server may be running.',
      ),
      // PARLEY_STORE is set for servers. If it were used here, the command would refuse every URL.
      variable: false,
    },
  },
  examples: [
    EXAMPLE,
    'parley push list http://127.0.0.1:41242 0197f0c5-… my-hook --json',
    'parley push retry http://127.0.0.1:41242 0197f0c5-… my-hook',
    'parley push list --store sqlite:tasks.db',
  ],

  async run({ operands: [action, url, task, config], values, environment }) {
    if (action !== 'list' && action !== 'retry') {
      throw usageError(`unknown action "${action}": use parley push list or retry`);
    }
    if (values.store !== undefined) {
      if (action === 'retry' || url !== undefined) {
        throw usageError(
          '--store works only with parley push list, without a URL. To send events again: parley push retry URL TASK CONFIG',
        );
      }
      return show(await lettersIn(values.store, environment), values.json);
    }
    if (url === undefined) {
      throw usageError(
        action === 'retry' ? RETRY_NEEDS : `parley push list needs URL, for example: ${EXAMPLE}`,
      );
    }
    const flags = { ...values, 'a2a-version': undefined, 'trusted-origin': [] };
    const target = targetOf({ operands: [url], values: flags });
    if (action === 'retry') {
      if (task === undefined || config === undefined) {
        throw usageError(RETRY_NEEDS);
      }
      const path = `${webhookPath(task, config)}/deadLetters:retry`;
      const result = await ask(target, 'POST', path);
      const retried = Number(result['retried']);
      if (values.json) sayJson(result);
      else if (retried === 0) note('This webhook has no dead letters.');
      else say(`Sending the events again, starting with the first of ${retried} dead letters`);
      return;
    }
    if (task !== undefined && config === undefined) {
      throw usageError('parley push list needs CONFIG after TASK, or only the URL');
    }
    const folder = task && config ? webhookPath(task, config) : '';
    const { deadLetters } = await ask(target, 'GET', `${folder}/deadLetters`);
    show(Array.isArray(deadLetters) ? deadLetters.map(letterOf) : [], values.json);
  },
});

function show(letters: readonly DeadLetter[], json: boolean): void {
  if (json) for (const letter of letters) sayJson(letter);
  else printTable(letters);
  if (letters.length >= MAX_DEAD_LETTERS) {
    note(`Only the latest ${MAX_DEAD_LETTERS} dead letters are listed: there may be more.`);
  }
}

/** Returns the latest dead letters of all owners in a task store. The limit is the same as for a server's list. */
async function lettersIn(store: string, environment: Environment): Promise<readonly DeadLetter[]> {
  const place = storeLocation({ store }, environment, '');
  if (place.kind === 'memory') {
    throw usageError(
      'parley push list --store cannot read the memory of a server. Ask the server: parley push list URL',
    );
  }
  const { postgresDeadLetters, storedDeadLetters } = await import('../../store/index.ts');
  const letters =
    place.kind === 'postgres'
      ? await postgresDeadLetters(place.url, MAX_DEAD_LETTERS)
      : storedDeadLetters(place.file, MAX_DEAD_LETTERS);
  if (!letters)
    throw usageError(`${'file' in place ? place.file : ''} is not a task store of Parley`);
  return letters.map(({ tenant, owner, taskId, configId, seq, reason, attempts, at }) => ({
    owner,
    tenant,
    taskId,
    pushNotificationConfigId: configId,
    seq,
    reason,
    attempts,
    timestamp: new Date(at).toISOString(),
  }));
}

function webhookPath(task: string, config: string): string {
  return `/tasks/${encodeURIComponent(task)}/pushNotificationConfigs/${encodeURIComponent(config)}`;
}

async function ask(
  { url, headers }: Target,
  method: 'GET' | 'POST',
  path: string,
): Promise<Record<string, unknown>> {
  const asked = { url: trimEndOf(url, '/') + path, method, subject: 'push' } as const;
  const result = await askRest({ ...asked, ...(method === 'POST' && { body: {} }) }, { headers });
  if (isObject(result)) return result;
  throw new A2AError('invalidAgentResponse', "The agent's response is not a JSON object");
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
  const withOwner = letters.some(({ owner }) => owner !== undefined);
  const rows = letters.map((letter) => [
    ...(withOwner ? [word(letter.owner || '–'), word(letter.tenant || '–')] : []),
    word(letter.taskId),
    word(letter.pushNotificationConfigId),
    String(letter.seq),
    timeOf(letter.timestamp),
    word(letter.reason),
  ]);
  const heads = ['task', 'config', 'event', 'given up', 'reason'];
  const all = withOwner ? ['owner', 'tenant', ...heads] : heads;
  for (const line of columns([all.map(dim), ...rows])) say(line);
}
