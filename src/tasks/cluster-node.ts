/**
 * This process as one of several nodes that share a store. It takes over the tasks of nodes that are gone. If another
 * node receives a request for a task that this node executes, this node handles the request.
 */
import { A2AError } from '../protocol/index.ts';
import { accept, type IntakeOptions, notStored } from './intake.ts';
import { LogLostError } from './log/live-task.ts';
import { isReserved, type Runtime } from './runtime.ts';
import { isUnfinished } from './store/store-rules.ts';
import type { ClusterMember, PushKey, StoreCluster, TaskHead, TaskKey } from './store/store.ts';
import {
  NotOwnerError,
  type OwnerAnswer,
  type OwnerRequest,
  type OwnerResult,
  unpackCall,
} from './owner.ts';

/** Maximum number of tasks that are taken over at a time, so that the other nodes get some too. */
const MAX_TAKEN = 16;

export class ClusterNode implements ClusterMember {
  readonly #runtime: Runtime;
  readonly #cluster: StoreCluster;
  readonly #intake: IntakeOptions;
  #takingOver = false;
  /** Whether there may be more tasks to take over. */
  #again = false;
  /**
   * The unfinished tasks that this node has given up, by id. Used only if `resumes` is a function, because then no
   * other node continues these tasks.
   */
  readonly #released = new Map<string, TaskKey>();

  constructor(runtime: Runtime, cluster: StoreCluster, intake: IntakeOptions) {
    this.#runtime = runtime;
    this.#cluster = cluster;
    this.#intake = { ...intake, isForwarded: true };
  }

  /** Joins the other nodes. Then takes over tasks (`#takeOver`). */
  async join(): Promise<void> {
    const { log } = this.#runtime;
    await this.#cluster.join(this);
    log.cluster = this.#cluster;
    if (this.#onlyOwn) log.released = this.#released;
    await this.#takeOver();
  }

  async leave(): Promise<void> {
    await this.#cluster.leave();
  }

  changed(taskIds: readonly string[]): void {
    this.#runtime.log.changed(taskIds);
  }

  pushChanged(keys: readonly PushKey[]): void {
    this.#runtime.push?.changedElsewhere(keys);
  }

  expelled(): void {
    this.#runtime.log.expel();
    this.#runtime.push?.closeAll();
  }

  orphaned(): void {
    void this.#takeOver();
  }

  async answer(text: string): Promise<string> {
    return JSON.stringify(await this.#answer(text));
  }

  async #answer(text: string): Promise<OwnerAnswer> {
    try {
      const request: OwnerRequest = JSON.parse(text);
      return { result: await this.#execute(request) };
    } catch (thrown) {
      if (thrown instanceof NotOwnerError) return 'moved';
      const error = thrown instanceof LogLostError ? notStored(thrown) : thrown;
      if (error instanceof A2AError) {
        const { kind, message, detail } = error;
        return { error: { kind, message, detail } };
      }
      this.#runtime.logger.error({ err: error }, 'a request of another node failed');
      return { error: { kind: 'internal', message: 'Internal error', detail: {} } };
    }
  }

  async #execute(request: OwnerRequest): Promise<OwnerResult> {
    const runtime = this.#runtime;
    if (request.kind === 'send') {
      const call = unpackCall(request.call, this.#intake.users);
      const accepted = await accept(runtime, request.params, call, this.#intake);
      if ('kind' in accepted) throw new NotOwnerError();
      using _live = accepted.live;
      const { after, repeated, brief } = accepted;
      return { after, repeated, brief };
    }
    const { kind, task } = request;
    using live = await runtime.log.open(task, task.taskId);
    if (!live || live.runsElsewhere) throw new NotOwnerError();
    const stopped = await runtime.stop(live, kind);
    await live.whenStored(live.seq);
    return { stopped };
  }

  /**
   * Takes over tasks whose nodes are gone, until there are no more or this node can execute no more tasks. If the
   * executor resumes only its own tasks, continues the tasks that this node has released instead. Never throws.
   */
  async #takeOver(): Promise<void> {
    const runtime = this.#runtime;
    this.#again = true;
    if (this.#takingOver) return;
    this.#takingOver = true;
    try {
      if (this.#onlyOwn) await this.#continueReleased();
      while (this.#again && !runtime.closing && !this.#onlyOwn) {
        this.#again = false;
        const room = Math.min(MAX_TAKEN, runtime.executions.room);
        const heads = room > 0 ? await this.#cluster.takeOver(room) : [];
        const continued = await Promise.all(heads.map((head) => this.#continue(head)));
        // The cluster may also return tasks that this node already executes. They must not cause an endless loop.
        this.#again ||= heads.length >= room && continued.includes(true);
      }
    } catch (error) {
      runtime.logger.error({ err: error }, 'failed to take over tasks of other nodes');
    } finally {
      this.#takingOver = false;
    }
  }

  /**
   * Whether the executor must not get tasks of other nodes. This is so if `resumes` is a function, because such an
   * executor resumes only its own tasks.
   */
  get #onlyOwn(): boolean {
    return typeof this.#runtime.executor.rules?.resumes === 'function';
  }

  /** Continues the tasks that this node has released, for example because the store failed. */
  async #continueReleased(): Promise<void> {
    const runtime = this.#runtime;
    for (const task of this.#released.values()) {
      if (runtime.closing) return;
      using live = await runtime.log.open(task, task.taskId);
      const isOver = !live || live.running || !isUnfinished(live.state);
      // The release may still be on its way to the store. Then the next call claims the task.
      if (!isOver && !(await runtime.log.ownInterrupted(live))) continue;
      this.#released.delete(task.taskId);
      if (isOver) continue;
      runtime.logger.info({ taskId: task.taskId, state: live.state }, 'continues a task');
      await runtime.continueOwn(live);
    }
  }

  /**
   * Executes a task that this node has taken over. Returns false if the task is not to be executed, for example because
   * it is already running here. Never throws.
   */
  async #continue(head: TaskHead): Promise<boolean> {
    const runtime = this.#runtime;
    const { taskId } = head;
    try {
      using live = await runtime.log.open(head, taskId);
      // A task that waits for its first message stays as it is. This node now accepts the message.
      if (!live || (await isReserved(live)) || runtime.log.isPaused(head)) return false;
      if (live.running || !live.owned || !isUnfinished(live.state)) return false;
      runtime.logger.info({ taskId, state: live.state }, 'took over a task');
      await runtime.continue(live);
    } catch (error) {
      runtime.logger.error({ err: error, taskId }, 'failed to take over a task');
      runtime.log.releaseLater(head, error);
    }
    return true;
  }
}
