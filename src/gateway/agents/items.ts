/**
 * What comes back from a remote agent: the answer to the message as it is streamed; where that breaks off, what a new
 * subscription brings; and where there is none, what the agent says when it is asked again and again.
 *
 * Each of these is handed out as it is, because one more generator around them would cost as much as the rest of an
 * event. Whoever reads them says how far it came (`seen`) and what went wrong (`failed`).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, StreamInterruptedError, resumable } from '../../client/index.ts';
import {
  A2AError,
  isSettled,
  isTerminal,
  type Call,
  type MessageSendParams,
  type StreamItem,
  type Task,
} from '../../protocol/index.ts';
import type { RemoteService } from './line.ts';
import { isPassing, MAX_FAILURES, patiently, pause } from './patience.ts';
import type { Reading } from './reading.ts';

export interface Conversation {
  readonly service: RemoteService;
  readonly streams: boolean;
  /** The message to send; undefined: the task is followed that `reading` knows. */
  readonly params: MessageSendParams | undefined;
  /** To send it twice does no harm. */
  readonly deduplicates: boolean;
  /** Headers, extensions and the signal. */
  readonly call: Call & { readonly signal: AbortSignal };
  readonly reading: Reading;
}

export type Items = AsyncIterable<StreamItem> | Iterable<StreamItem>;

export class RemoteItems {
  readonly #talk: Conversation;
  /** What comes next. */
  #way: 'send' | 'subscribe' | 'poll' | 'nothing';
  /** What was last handed out is what comes back for the message. */
  #sent = false;
  #lastSeq: number | undefined;
  #numbered = true;

  constructor(talk: Conversation) {
    this.#talk = talk;
    this.#way = talk.params ? 'send' : talk.streams ? 'subscribe' : 'poll';
  }

  /** The next way to hear of the task; undefined: there is none left. */
  async next(): Promise<Items | undefined> {
    const { reading, streams, service, call } = this.#talk;
    const { taskId } = reading;
    switch (this.#way) {
      case 'send':
        this.#way = streams ? 'subscribe' : 'poll';
        this.#sent = true;
        try {
          return await (streams ? this.#stream() : this.#send());
        } catch (error) {
          if (error instanceof A2AError && taskId !== undefined) return this.#ended(taskId, error);
          this.failed(error);
          return this.next();
        }
      case 'subscribe': {
        this.#sent = false;
        // Whether the answer has come must be known first: one may subscribe to a task that waits, and wait with it.
        if (taskId !== undefined && reading.waits) return [await this.#ask(taskId)];
        this.#way = 'poll';
        if (taskId === undefined) return this.#again();
        // Not every server repeats what was said meanwhile, or means by its numbers what we do.
        reading.doubt();
        const from = this.#numbered ? { taskId, after: this.#lastSeq } : { taskId };
        return resumable({ service, call, signal: call.signal, from });
      }
      case 'poll':
        this.#sent = false;
        this.#way = 'nothing';
        return taskId === undefined ? undefined : this.#polled(taskId);
      default:
        return undefined;
    }
  }

  /** The number that an item had, where the server numbers its events. */
  seen(seq: number): void {
    // What does not grow is no place in a log, whatever else the server means by it.
    if (this.#lastSeq !== undefined && seq <= this.#lastSeq) this.#numbered = false;
    this.#lastSeq = seq;
  }

  /** What was last handed out broke off. Throws where there is no use in going on. */
  failed(error: unknown): void {
    const { reading, streams, deduplicates } = this.#talk;
    const known = reading.taskId !== undefined;
    if (this.#sent) {
      if (!isTrouble(error) || (!known && error.reason === 'unreachable')) throw error;
      if (known || (streams && deduplicates)) return;
      throw new StreamInterruptedError('the message may have arrived', {}, { cause: error });
    }
    // A server that cannot be subscribed to again, for whatever reason, can still be asked how far it is.
    const isTheirs = error instanceof StreamInterruptedError || error instanceof A2AError;
    if (this.#way !== 'poll' || !known || !isTheirs) throw error;
  }

  #stream(): Promise<AsyncIterable<StreamItem>> {
    const { service, params, call } = this.#talk;
    return this.#reaching(() => service.streamMessage(params!, call));
  }

  async #send(): Promise<StreamItem[]> {
    const { service, params, call } = this.#talk;
    // The id of the task is wanted at once: without it the work could neither be found again nor canceled.
    const configuration = { ...params!.configuration, blocking: false };
    const event = await this.#reaching(() =>
      service.sendMessage({ ...params!, configuration }, call),
    );
    return [{ event }];
  }

  /** An answer that was refused may have come too late: then its task has ended, and says how. */
  async #ended(id: string, refused: A2AError): Promise<StreamItem[]> {
    const { service, call } = this.#talk;
    const event = await service.getTask({ id, historyLength: 0 }, call).catch(() => undefined);
    if (event && isTerminal(event.status.state)) return [{ event }];
    throw refused;
  }

  async #ask(id: string): Promise<StreamItem> {
    const { service, call } = this.#talk;
    const ask = () => service.getTask({ id, historyLength: 0 }, call);
    return { event: await patiently(ask, call.signal) };
  }

  /** Sends the message to an agent that knows whether it has it. */
  #again(): Items | undefined {
    const { service, params, call, deduplicates } = this.#talk;
    if (!deduplicates || !params) return undefined;
    const open = (own: Call) => service.streamMessage(params, own);
    return resumable({ service, call, signal: call.signal, from: { open, retrySend: true } });
  }

  /** Tries again where an answer finds nobody at home: an agent that waits for one may be restarting. */
  async #reaching<Result>(attempt: () => Promise<Result>): Promise<Result> {
    const { params, call } = this.#talk;
    for (let failures = 1; ; failures++) {
      try {
        return await attempt();
      } catch (error) {
        const nothingSent = error instanceof ConnectionError && error.reason === 'unreachable';
        const isAnswer = params?.message.taskId !== undefined;
        if (!nothingSent || !isAnswer || failures >= MAX_FAILURES) throw error;
      }
      await delay(pause(failures), undefined, { signal: call.signal });
    }
  }

  async *#polled(id: string): AsyncGenerator<StreamItem> {
    const { service, call } = this.#talk;
    let failures = 0;
    for (let asked = 1; ; asked++) {
      await delay(pause(asked), undefined, { signal: call.signal });
      let event: Task;
      try {
        event = await service.getTask({ id, historyLength: 0 }, call);
        failures = 0;
      } catch (error) {
        if (!isPassing(error) || ++failures >= MAX_FAILURES) throw error;
        continue;
      }
      yield { event };
      if (isSettled(event.status.state)) return;
    }
  }
}

/** The connection's, and not what was said on it. */
function isTrouble(error: unknown): error is ConnectionError {
  return (
    error instanceof ConnectionError &&
    (error.reason === 'unreachable' || error.reason === 'broken' || error.reason === 'timeout')
  );
}
