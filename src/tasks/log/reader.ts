/**
 * One reader of one task's log.
 *
 * It is pushed what is published while it keeps up. When its sink says that it is full, it is left alone; once the
 * sink has room again (`resume`) it reads what it missed from the store, in small pieces, until it is up to date. So a
 * reader that does not read costs a cursor, not a queue, and never holds the others.
 */
import type { MaybePromise } from '../../base/index.ts';
import { isInterrupted, type TaskState } from '../../protocol/index.ts';
import { Published } from './published.ts';
import type { SerializedEntry } from '../store/store.ts';
import { nextPiece } from './size.ts';

/** `final`: the task is settled. `lost`: this process no longer has the log; the reader may resume elsewhere. */
export type EndReason = 'final' | 'closed' | 'lost' | 'shutdown';

/** Where a reader's entries go. Neither method may throw. */
export interface Sink {
  /** Takes an entry; `last`: `end` follows at once. False: no more until `resume`. */
  take(entry: Published, last: boolean): boolean;
  end(reason: EndReason): void;
  /** Goes on after a terminal or interrupted state, and when the log closes, until its owner closes the reader. */
  readonly endless?: boolean;
  /** Asked at a settled state that another turn may follow: true, and the reader waits for it. */
  readonly spans?: (() => boolean) | undefined;
}

/** The log that a reader reads. */
export interface Readable {
  /** Number of the last entry that was appended, whether it may be shown or not. */
  readonly seq: number;
  /** Number of the last entry that may be shown. */
  readonly stored: number;
  read(after: number, limit: number): MaybePromise<readonly SerializedEntry[]>;
  forget(reader: LogReader): void;
}

const PIECE = 64;

/** Whether a task that has come to rest in this state can have another turn. */
export function mayGoOn(state: TaskState): boolean {
  return state === 'completed' || isInterrupted(state);
}

export class LogReader {
  /** The last entry that the sink has taken. */
  cursor: number;
  readonly #log: Readable;
  readonly #sink: Sink;
  #full = true;
  #piece = 16;
  #reading = false;
  #closed = false;

  constructor(log: Readable, cursor: number, sink: Sink) {
    this.#log = log;
    this.cursor = cursor;
    this.#sink = sink;
  }

  /** From the log: an entry was published. */
  offer(entry: Published): void {
    if (this.#full || this.#reading || this.#closed) return;
    if (entry.seq === this.cursor + 1) this.#give(entry);
  }

  /** The sink has room: at first, and each time after it was full. */
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
    const room = this.#sink.take(entry, last);
    if (last) this.close('final');
    else if (!room) this.#full = true;
  }

  /** A settled state is the end only where the log ends: behind a question that was answered, the task goes on. */
  #isLast({ seq, event }: Published): boolean {
    if (event.kind !== 'status-update' || !event.final || seq !== this.#log.seq) return false;
    const { endless = false, spans } = this.#sink;
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
        // What the sink had no room for was read in vain: next time not many more than it takes.
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
