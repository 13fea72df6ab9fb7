/** A task with its whole log. While the page shows the task, `follow` reads its new events. */
import { signal } from '@preact/signals';
import { rest } from '../../../base/index.ts';
import { retryMs, whileHidden } from '../server/polling.ts';
import { EXTENSIONS, type Server } from '../server/server.ts';
import { leaveIfRefused } from '../server/sign-in.ts';
import {
  mayWrite,
  decoded,
  readLog,
  type RawEntry,
  type TaskPlace,
  cancelTask,
  sendToTask,
} from '../server/tasks.ts';
import { OwnSession } from '../session/own-session.ts';
import { PageSession } from '../session/page-session.ts';
import { PastStates } from './past-states.ts';
import type { LiveRole, LiveItem, LiveSession } from '../../../live/client/index.ts';
import type { LogEntry, ProtocolVersion, Part } from '../../../protocol/index.ts';
import { isTerminal } from '../../../protocol/schema-free/index.ts';

/**
 * Pauses before the log is read again, in milliseconds: after a stream has ended, while the task waits for an answer,
 * and after the task has ended. Some agents continue a task that has ended.
 */
const SOON_MS = 500;
const WAITING_MS = 10_000;
const ENDED_MS = 60_000;

export class OpenTask {
  readonly server: Server;
  readonly place: TaskPlace;
  /** The newest state of the task, and the answers to the task's questions. */
  readonly newest: PageSession;
  readonly past: PastStates;
  /** The number of events that are loaded. Updated after the events are added to `past`. */
  readonly count = signal(0);
  readonly error = signal<unknown>(undefined);
  /** The raw events that are loaded, by protocol version. */
  readonly raw = new Map<ProtocolVersion, RawEntry[]>();
  readonly #stop = new AbortController();
  /** Ends the pause before the log is read again. */
  #endPause = () => {};

  constructor(server: Server, place: TaskPlace) {
    this.server = server;
    this.place = place;
    const roles: LiveRole[] = mayWrite(server, place.agent)
      ? ['view', 'prompt', 'approve']
      : ['view'];
    const session = new TaskSession(server, place, roles, () => this.readNow());
    this.newest = new PageSession(session);
    this.past = new PastStates(session.self, this.agentName);
  }

  get agentName(): string {
    return this.place.agent === '' ? this.server.card.name : this.place.agent;
  }

  get lastSeq(): number {
    return this.past.entries.at(-1)?.seq ?? 0;
  }

  /**
   * Reads the log and the stream of the task until `close`, or until the server refuses the key. After any other error,
   * tries again. Must be called only once.
   */
  async follow(): Promise<void> {
    const { signal: stopped } = this.#stop;
    while (!stopped.aborted) {
      let pauseMs = WAITING_MS;
      try {
        await this.#read(stopped);
        this.error.value = undefined;
        pauseMs = (await this.#stream(stopped)) ? SOON_MS : this.#hasEnded ? ENDED_MS : WAITING_MS;
      } catch (error) {
        if (stopped.aborted || leaveIfRefused(error)) return;
        this.error.value = error;
        pauseMs = retryMs(error);
      }
      await this.#pause(pauseMs, stopped);
      await whileHidden(stopped);
    }
  }

  get #hasEnded(): boolean {
    const state = this.past.taskAfter(this.count.value)?.status.state;
    return state !== undefined && isTerminal(state);
  }

  /** Ends the pause before the next read of the log. Has no effect while the log or the stream is being read. */
  readNow(): void {
    this.#endPause();
  }

  close(): void {
    this.#stop.abort();
  }

  /** Loads the missing raw events of a protocol version. Returns all raw events of this version. */
  async rawEvents(version: ProtocolVersion): Promise<readonly RawEntry[]> {
    const known = this.raw.get(version) ?? [];
    this.raw.set(version, known);
    const after = known.at(-1)?.seq ?? 0;
    const query = { ...this.place, version, after, signal: this.#stop.signal };
    for await (const page of readLog(this.server, query)) {
      // Two calls may have read the same entries at the same time.
      for (const entry of page) if (entry.seq > (known.at(-1)?.seq ?? 0)) known.push(entry);
    }
    return known;
  }

  async #read(stopped: AbortSignal): Promise<void> {
    const { version } = (await this.server.client(this.place.agent)).endpoint;
    const query = { ...this.place, version, after: this.lastSeq, signal: stopped };
    for await (const page of readLog(this.server, query)) {
      for (const raw of page) this.#add(decoded(raw, version));
      this.count.value = this.past.entries.length;
    }
  }

  /** Reads the stream of a running task. Returns false if the task is not running. */
  async #stream(stopped: AbortSignal): Promise<boolean> {
    const state = this.past.taskAfter(this.count.value)?.status.state;
    if (state !== 'working' && state !== 'submitted') return false;
    const client = await this.server.client(this.place.agent);
    const options = { after: this.lastSeq, extensions: EXTENSIONS, signal: stopped };
    for await (const { event, seq } of client.resubscribe(this.place.taskId, options)) {
      // An item without a sequence number, such as a snapshot, is skipped. Its content is read from the log afterwards.
      if (seq === undefined || seq <= this.lastSeq || event.kind === 'message') continue;
      this.#add({ seq, event });
      this.count.value = this.past.entries.length;
      if (event.kind === 'status-update' && isTerminal(event.status.state)) break;
    }
    return true;
  }

  #add(entry: LogEntry): void {
    this.newest.dispatch(this.past.add(entry));
  }

  #pause(ms: number, stopped: AbortSignal): Promise<void> {
    const ended = new AbortController();
    this.#endPause = () => ended.abort();
    return rest(ms, AbortSignal.any([stopped, ended.signal]));
  }
}

/**
 * Presents a task as a live session whose only client is this page. So the page can show the task's questions in the
 * dialog of live sessions.
 */
class TaskSession extends OwnSession implements LiveSession {
  readonly #server: Server;
  readonly #place: TaskPlace;
  readonly #onSent: () => void;

  /**
   * `onSent` is called after each attempt to send a message to the task, so that the page reads the task's new events.
   */
  constructor(server: Server, place: TaskPlace, roles: readonly LiveRole[], onSent: () => void) {
    super('browser', roles);
    this.#onSent = onSent;
    this.#server = server;
    this.#place = place;
  }

  /** Yields nothing. The page reads the task's log itself, because it also shows earlier states of the task. */
  async *items(): AsyncGenerator<LiveItem> {}

  /** Calls `onSent` even if the task refuses the message, because another client may have answered first. */
  protected async send(parts: readonly Part[]): Promise<string> {
    await sendToTask(this.#server, this.#place, parts).finally(this.#onSent);
    return this.#place.taskId;
  }

  async cancel(): Promise<void> {
    await cancelTask(this.#server, this.#place);
  }

  async commands() {
    return [];
  }

  async close(): Promise<void> {}
}
