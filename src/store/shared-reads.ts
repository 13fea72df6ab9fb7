/**
 * A read transaction that the reads in one turn of the event loop share. Without it, each read would lock the file and
 * look for new entries in the write-ahead log. This takes several times as long as the search for one row.
 *
 * In one turn, the reads do not see the writes of other processes. This does not matter, because only this process
 * writes to the store.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { flushLastInTurn } from '../base/index.ts';

export class SharedReads {
  readonly #db: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #isOpen = false;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#begin = db.prepare('BEGIN');
    this.#commit = db.prepare('COMMIT');
  }

  /** Begins the transaction, unless it has begun. Call this before a read of one row outside a write transaction. */
  begin(): void {
    if (this.#isOpen || this.#db.isTransaction) return;
    this.#begin.run();
    this.#isOpen = true;
    flushLastInTurn(this);
  }

  /** Ends the transaction, if there is one. Call this before each write, so that the write gets its own transaction. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#db.isOpen && this.#db.isTransaction) this.#commit.run();
  }

  /** Called at the end of the turn. Never throws. */
  flush(): void {
    try {
      this.end();
    } catch {
      // Nothing was written. The next write fails, rolls the transaction back, and reports the error.
    }
  }
}
