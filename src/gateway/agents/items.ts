/** What comes back from a remote agent, through broken connections: streamed, or asked for again and again. */
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, StreamInterruptedError } from '../../client/index.ts';
import { resumable } from '../../client/resume.ts';
import {
  A2AError,
  isSettled,
  type Call,
  type MessageSendParams,
  type StreamItem,
  type Task,
} from '../../protocol/index.ts';
import type { RemoteService } from './line.ts';
import type { Reading } from './reading.ts';

export interface Conversation {
  readonly service: RemoteService;
  readonly streams: boolean;
  /** The message to send; undefined: the task is followed that `reading` knows. */
  readonly params: MessageSendParams | undefined;
  /** To send it twice does no harm. */
  readonly deduplicates: boolean;
  /** Headers and extensions. */
  readonly call: Call;
  readonly signal: AbortSignal;
}

const FIRST_POLL_MS = 100;
const LAST_POLL_MS = 5000;
/** So many times in a row it may be away. */
const MAX_FAILURES = 6;

/** Until the task is settled. `reading` has taken each item before the next is asked for. */
export async function* remoteItems(
  talk: Conversation,
  reading: Reading,
): AsyncGenerator<StreamItem> {
  if (talk.streams) {
    try {
      for await (const item of streamed(talk, reading)) yield item;
    } catch (error) {
      // A server that cannot be subscribed to again can still be asked how far it is.
      if (!(error instanceof StreamInterruptedError) || error.taskId === undefined) throw error;
    }
  } else if (talk.params) {
    yield { event: await reaching(talk, () => send(talk)) };
  }
  if (reading.taskId !== undefined && !reading.settled) yield* polled(talk, reading.taskId);
}

function streamed(talk: Conversation, { taskId }: Reading): AsyncIterable<StreamItem> {
  const { service, params, call, signal, deduplicates } = talk;
  if (params) {
    const open = (own: Call) => reaching(talk, () => service.streamMessage(params, own));
    return resumable({ service, call, signal, from: { open, retrySend: deduplicates } });
  }
  if (taskId === undefined) throw new TypeError('only a task can be followed');
  return resumable({ service, call, signal, from: { taskId } });
}

function send({ service, params, call, signal }: Conversation) {
  // The id of the task is wanted at once: without it the work could neither be found again nor canceled.
  const configuration = { ...params!.configuration, blocking: false };
  return service.sendMessage({ ...params!, configuration }, { ...call, signal });
}

/** Tries again where an answer finds nobody at home: an agent that waits for one may be restarting. */
async function reaching<Result>(
  { params, signal }: Conversation,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      const nothingSent = error instanceof ConnectionError && error.reason === 'unreachable';
      const isAnswer = params?.message.taskId !== undefined;
      if (!nothingSent || !isAnswer || failures >= MAX_FAILURES) throw error;
    }
    await delay(pause(failures), undefined, { signal });
  }
}

async function* polled(
  { service, call, signal }: Conversation,
  id: string,
): AsyncGenerator<StreamItem> {
  let failures = 0;
  for (let asked = 1; ; asked++) {
    await delay(pause(asked), undefined, { signal });
    let event: Task;
    try {
      event = await service.getTask({ id, historyLength: 0 }, { ...call, signal });
      failures = 0;
    } catch (error) {
      if (!isPassing(error) || ++failures >= MAX_FAILURES) throw error;
      continue;
    }
    yield { event };
    if (isSettled(event.status.state)) return;
  }
}

export function isPassing(error: unknown): boolean {
  if (error instanceof A2AError)
    return error.kind === 'unavailable' || error.kind === 'rateLimited';
  return error instanceof ConnectionError && error.reason !== 'closed';
}

export function pause(attempt: number): number {
  return Math.min(FIRST_POLL_MS * 1.6 ** (attempt - 1), LAST_POLL_MS);
}
