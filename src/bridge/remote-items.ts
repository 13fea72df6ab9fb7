/** What a remote agent sends back for a message: streamed, or asked for again and again where it does not stream. */
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, type AgentClient } from '../client/index.ts';
import {
  isSettled,
  type Message,
  type SendResult,
  type StreamItem,
  type Task,
} from '../protocol/index.ts';
import { wasRefused } from './remote-connection.ts';
import type { RemoteReading } from './remote-reading.ts';
import type { RemoteTurn } from './remote-turn.ts';

const FIRST_POLL_MS = 100;
const LAST_POLL_MS = 5000;
/** So many times in a row the remote may be away when it is asked how far it is, or when it is to get an answer. */
const MAX_FAILURES = 6;

/** The items of one turn, until the task is settled. `reading` has taken each before the next is asked for. */
export async function* remoteItems(
  client: AgentClient,
  turn: RemoteTurn,
  reading: RemoteReading,
  signal: AbortSignal,
): AsyncGenerator<StreamItem> {
  yield* reaching(() => begin(client, turn, signal), turn, signal);
  // Some streams end early, and some servers have none.
  if (reading.taskId === undefined || isSettled(reading.state ?? 'unknown')) return;
  yield* polled(client, reading.taskId, signal);
}

function begin(
  client: AgentClient,
  { parts, messageId, taskId, contextId }: RemoteTurn,
  signal: AbortSignal,
): AsyncIterable<StreamItem> {
  const streams = client.card.capabilities.streaming === true;
  if (!parts) {
    if (taskId === undefined) throw new TypeError('only a task can be followed');
    return streams ? client.resubscribe(taskId, { signal }) : once(client.get(taskId, { signal }));
  }
  const message: Partial<Message> & Pick<Message, 'parts'> = { messageId, parts: [...parts] };
  const options = { taskId, contextId, signal };
  if (streams) return client.stream(message, { ...options, configuration: { historyLength: 0 } });
  // The id of a new task is wanted at once, because without it the work could neither be found again nor canceled.
  const configuration = { historyLength: 0, blocking: taskId !== undefined };
  return once(client.send(message, { ...options, configuration }));
}

/** Tries again where an answer finds nobody at home: a remote that waits for one may be restarting. */
async function* reaching(
  open: () => AsyncIterable<StreamItem>,
  { taskId }: RemoteTurn,
  signal: AbortSignal,
): AsyncGenerator<StreamItem> {
  for (let failures = 1; ; failures++) {
    try {
      yield* open();
      return;
    } catch (error) {
      if (taskId === undefined || !wasRefused(error) || failures >= MAX_FAILURES) throw error;
    }
    await delay(pause(failures), undefined, { signal });
  }
}

async function* polled(
  client: AgentClient,
  taskId: string,
  signal: AbortSignal,
): AsyncGenerator<StreamItem> {
  let failures = 0;
  for (let asked = 1; ; asked++) {
    await delay(pause(asked), undefined, { signal });
    let event: Task;
    try {
      event = await client.get(taskId, { signal, historyLength: 0 });
      failures = 0;
    } catch (error) {
      if (!(error instanceof ConnectionError) || ++failures >= MAX_FAILURES) throw error;
      continue;
    }
    yield { event };
    if (isSettled(event.status.state)) return;
  }
}

function pause(attempt: number): number {
  return Math.min(FIRST_POLL_MS * 1.6 ** (attempt - 1), LAST_POLL_MS);
}

async function* once(result: Promise<SendResult>): AsyncGenerator<StreamItem> {
  yield { event: await result };
}
