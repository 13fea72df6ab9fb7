/**
 * The tasks that a node hands back: it no longer executes them, so any node may take them over. A release is repeated
 * until the database has executed it.
 */
import { Turns } from '../../base/index.ts';
import { fromPostgresText, toPostgresText, type Postgres } from '../../base/postgres/index.ts';
import type { TaskHead } from '../../tasks/index.ts';
import { CLUSTER_SQL } from './cluster-statements.ts';
import { toHeads, type ScopedHeadRow } from './statements.ts';

/**
 * How long the release of a task that does not exist is repeated. If a connection is lost during the statement that
 * creates a task, the database may still execute the statement later, for example when it gets a lock.
 */
const LATE_MS = 600_000;
/** Maximum number of tasks that do not exist and whose release is repeated. */
const MAX_LATE = 5000;

export class Releases {
  readonly #db: Postgres;
  readonly #node: () => string;
  readonly #onReleased: () => void;
  /** The tasks that are still to be released, with their epochs. */
  readonly #pending = new Map<string, number>();
  /** The tasks that did not exist when they were released, with the time until which the release is repeated. */
  readonly #late = new Map<string, { readonly epoch: number; readonly until: number }>();
  /** Runs the statements of `run` and of `takeBack` one after the other. */
  readonly #turns = new Turns();

  /** `onReleased` is called after tasks of this node have been released. */
  constructor(db: Postgres, node: () => string, onReleased: () => void) {
    this.#db = db;
    this.#node = node;
    this.#onReleased = onReleased;
  }

  /** Whether the database may still create a task that this node has released. */
  get hasLate(): boolean {
    return this.#late.size > 0;
  }

  add(taskId: string, epoch: number): void {
    this.#pending.set(taskId, epoch);
    void this.run();
  }

  /** Stops repeating the release of a task, because this node has appended to the task again. */
  found(taskId: string): void {
    this.#late.delete(taskId);
  }

  /** Forgets all tasks. This node has lost its lease, so it owns no tasks. */
  clear(): void {
    this.#pending.clear();
    this.#late.clear();
  }

  /** Returns the unfinished tasks of this node. This node continues these tasks, so it no longer releases them. */
  takeBack(): Promise<readonly TaskHead[]> {
    return this.#turns.run('', async () => {
      const heads = toHeads(await this.#db.run<ScopedHeadRow>(CLUSTER_SQL.own, [this.#node()]));
      for (const { taskId } of heads) {
        this.#pending.delete(taskId);
        this.#late.delete(taskId);
      }
      return heads;
    });
  }

  /** Repeats the release of the tasks that did not exist at the earlier releases. Never rejects. */
  async runLate(): Promise<void> {
    for (const [taskId, { epoch }] of this.#late) this.#pending.set(taskId, epoch);
    await this.run();
  }

  /** Releases the pending tasks. Never rejects. */
  async run(): Promise<void> {
    if (this.#pending.size > 0) await this.#turns.run('', () => this.#runAll());
  }

  async #runAll(): Promise<void> {
    const pending = [...this.#pending];
    if (pending.length === 0) return;
    this.#pending.clear();
    try {
      const taskIds = pending.map(([taskId]) => toPostgresText(taskId));
      const epochs = pending.map(([, epoch]) => epoch);
      const rows = await this.#db.run<[taskId: string, wasOwn: boolean]>(CLUSTER_SQL.release, [
        taskIds,
        epochs,
        this.#node(),
      ]);
      const known = new Set(rows.map(([taskId]) => fromPostgresText(taskId)));
      for (const [taskId, epoch] of pending) this.#keepLate(taskId, epoch, known.has(taskId));
      if (rows.some(([, wasOwn]) => wasOwn)) this.#onReleased();
    } catch {
      // The next run tries again.
      for (const [taskId, epoch] of pending) {
        if (!this.#pending.has(taskId)) this.#pending.set(taskId, epoch);
      }
    }
  }

  /**
   * Records a released task that does not exist, so that `runLate` repeats the release. The database may still create
   * the task. Removes the record if the task exists, or if LATE_MS have passed.
   */
  #keepLate(taskId: string, epoch: number, exists: boolean): void {
    const now = performance.now();
    const until = this.#late.get(taskId)?.until ?? now + LATE_MS;
    if (exists || until <= now) this.#late.delete(taskId);
    else if (this.#late.size < MAX_LATE) this.#late.set(taskId, { epoch, until });
  }
}
