/**
 * One reader of one task's log.
 *
 * While the sink has room, the reader passes published entries to it. When the sink is full, the reader stops. After
 * `resume`, it reads the missed entries from the store in small pieces until it has caught up. So a slow reader needs
 * only a cursor instead of a queue, and does not slow down other readers.
 */
import type { MaybePromise } from '../../base/index.ts';
import { isInterrupted, isTerminal, type TaskState } from '../../protocol/index.ts';
import { Published } from './published.ts';
import type { SerializedEntry } from '../store/store.ts';
import { nextPiece } from './size.ts';

/**
 * The reason why a reader has ended. `final`: there are no more entries, usually because the task is settled. `closed`:
 * the owner of the reader closed it. `lost`: this reader can no longer use the log, but the client may resume later or
 * at another process. `shutdown`: the server shuts down.
 */
export type EndReason = 'final' | 'closed' | 'lost' | 'shutdown';

/** Receives a reader's entries. The methods must not throw. */
export interface Sink {
  /**
   * Takes an entry. Returns false if the sink is full. Then the sink gets no more entries until `resume` is called. If
   * `last` is true, `end` is called next.
   */
  take(entry: Published, last: boolean): boolean;
  end(reason: EndReason): void;
  /**
   * If true, the reader does not end at a settled state or at shutdown. It ends only when its owner closes it or the
   * log is lost.
   */
  readonly endless?: boolean;
  /** Called at a settled state after which another turn may follow. Returns true to wait for the next turn. */
  readonly spans?: (() => boolean) | undefined;
  /** If true, the reader ends at the first terminal state, even if other turns follow in the log. */
  readonly oneTurn?: boolean | undefined;
}

/** The log that a reader reads. */
export interface Readable {
  /** Sequence number of the last appended entry, stored or not. */
  readonly seq: number;
  /** Sequence number of the last stored entry. */
  readonly stored: number;
  read(after: number, limit: number): MaybePromise<readonly SerializedEntry[]>;
  addReader(reader: LogReader): void;
  forget(reader: LogReader): void;
}

const PIECE = 64;

/** Returns whether another turn may follow this settled state. */
export function mayGoOn(state: TaskState): boolean {
  return state === 'completed' || isInterrupted(state);
}

export class LogReader {
  /** Sequence number of the last entry that the sink took. Initially, the number after which the reader begins. */
  cursor: number;
  #log: Readable;
  readonly #sink: Sink;
  /** The last entry that the sink took, if it was final. */
  #final: Published | undefined;
  #full = true;
  #piece = 16;
  #reading = false;
  #closed = false;

  constructor(log: Readable, cursor: number, sink: Sink) {
    this.#log = log;
    this.cursor = cursor;
    this.#sink = sink;
  }

  /** Whether the reader can continue with another log of the same task. */
  get isMovable(): boolean {
    return !this.#sink.endless;
  }

  /** Continues with another log of the same task, and adds itself to the readers of that log. */
  moveTo(log: Readable): void {
    if (this.#closed) return;
    this.#log = log;
    log.addReader(this);
    if (this.#final && this.#isLast(this.#final)) this.close('final');
    else if (!this.#full) this.resume();
  }

  /** Called by the log when an entry is published. */
  offer(entry: Published): void {
    if (this.#full || this.#reading || this.#closed) return;
    if (entry.seq === this.cursor + 1) this.#give(entry);
  }

  /** Starts or continues reading. Called at the start, and each time the sink has room again. */
  resume(): void {
    this.#full = false;
    if (!this.#closed && !this.#reading && this.cursor < this.#log.stored) void this.#catchUp();
  }

  close(reason: EndReason = 'closed'): void {
    if (this.#closed || (reason === 'shutdown' && this.#sink.endless)) return;
    this.#closed = true;
    this.#log.forget(this);
    this.#sink.end(reason);
  }

  #give(entry: Published): void {
    this.cursor = entry.seq;
    const last = this.#isLast(entry);
    this.#final = entry.event.kind === 'status-update' && entry.event.final ? entry : undefined;
    const room = this.#sink.take(entry, last);
    if (last) this.close('final');
    else if (!room) this.#full = true;
  }

  /**
   * Returns whether the reader ends after this entry. A settled state that is not the log's last entry does not end the
   * reader, because the task has continued after it. The exception is a terminal state if the sink has `oneTurn`.
   */
  #isLast({ seq, event }: Published): boolean {
    if (event.kind !== 'status-update' || !event.final) return false;
    const { endless = false, spans, oneTurn } = this.#sink;
    if (oneTurn && isTerminal(event.status.state)) return true;
    if (seq !== this.#log.seq) return false;
    return !endless && !(mayGoOn(event.status.state) && spans?.());
  }

  async #catchUp(): Promise<void> {
    this.#reading = true;
    try {
      while (!this.#full && !this.#closed && this.cursor < this.#log.stored) {
        const found = this.#log.read(this.cursor, this.#piece);
        const entries = found instanceof Promise ? await found : found;
        if (entries.length === 0) return this.close('lost');
        let given = 0;
        for (const entry of entries) {
          if (this.#full || this.#closed) break;
          this.#give(new Published(entry));
          given++;
        }
        const asked = this.#piece;
        // If the sink is full, the entries that it did not take are read again later. In this case, the next piece has
        // at most twice as many entries as the sink took, so that few entries are read twice.
        this.#piece = Math.min(nextPiece(entries, PIECE), this.#full ? 2 * given : PIECE);
        if (entries.length === asked && !this.#full)
          await new Promise((resolve) => setImmediate(resolve));
      }
    } catch {
      this.close('lost');
    } finally {
      this.#reading = false;
    }
  }
}
