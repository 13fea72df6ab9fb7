/**
 * The interface with which several processes (nodes) share the tasks of one store.
 *
 * A task has at most one writer. This is the node in its head, in the epoch in its head. A node claims a task before it
 * appends to it, which raises the epoch. An append with an earlier epoch is refused, so a node that was taken for dead
 * can no longer write. A node is alive while its lease is valid.
 */
import type { PushRecord, Scope, TaskHead } from './store.ts';

/** A task, by its scope and id. */
export interface TaskKey extends Scope {
  readonly taskId: string;
}

/** A webhook, by its task and configuration. */
export interface PushKey extends Pick<PushRecord, 'taskId'> {
  readonly configId: string;
}

/** The part of a server that reacts to other nodes. The methods must not throw. */
export interface ClusterMember {
  /** Other nodes may have appended to these tasks, or these tasks have another owner. */
  changed(taskIds: readonly string[]): void;
  /** Other nodes have saved or removed these webhooks. */
  pushChanged(keys: readonly PushKey[]): void;
  /** Answers a request of another node. */
  answer(request: string): Promise<string>;
  /** Tasks or webhooks of a node that is gone can be taken over. */
  orphaned(): void;
  /** The lease of this node has ended, so it no longer owns its tasks. It continues as a new node. */
  expelled(): void;
}

/** How several nodes share the tasks of a store. */
export interface StoreCluster {
  /** The id of this node. It changes when the lease of this node has ended. */
  readonly node: string;
  /** How long a node that does not respond keeps its tasks, in milliseconds. */
  readonly leaseMs: number;
  /** Whether this node does the work that only one node does, such as the removal of expired tasks. */
  readonly leads: boolean;

  /** Joins the cluster. Resolves when this node has a lease. */
  join(member: ClusterMember): Promise<void>;
  /** Gives up the lease. From now on, other nodes take over the tasks of this node. Never throws. */
  leave(): Promise<void>;

  /**
   * Makes this node the owner of a task, and raises its epoch. With `waiting`, claims only a task that no node executes
   * and that needs no node: it waits for a message or has ended. With `interrupted`, claims only an unfinished task
   * whose node is gone. Returns the head, or undefined if there is no such task.
   */
  claim(task: TaskKey, which: 'waiting' | 'interrupted'): Promise<TaskHead | undefined>;
  /** Claims at most `limit` unfinished tasks whose nodes are gone. */
  takeOver(limit: number): Promise<readonly TaskHead[]>;
  /** Makes a task of this node available to all nodes, because this node has stopped to execute it. Never throws. */
  release(taskId: string): void;

  /** Reports changes of a task by other nodes, until `unwatch` is called. */
  watch(taskId: string): void;
  unwatch(taskId: string): void;

  /**
   * Sends a request to another node, and returns its answer. Returns undefined if that node is gone. Then the request
   * may or may not have been executed.
   */
  ask(node: string, request: string, signal?: AbortSignal): Promise<string | undefined>;

  /** Makes this node the only one that delivers events to a webhook. Returns false if another node does it. */
  claimPush(key: PushKey): Promise<boolean>;
  /** Lets other nodes deliver events to a webhook. Never throws. */
  releasePush(key: PushKey): void;
}
