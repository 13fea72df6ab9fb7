/**
 * Converts most errors of a store into `unavailable` errors, and logs the cause. An A2AError from the store is not
 * changed.
 */
import type { MaybePromise } from '../base/index.ts';
import { A2AError } from '../protocol/index.ts';
import type { Logger } from './log/logger.ts';
import type { StoreCluster, TaskStore } from './store/store.ts';

/** Wraps a durable store. A store that is not durable is assumed not to fail, and is returned unchanged. */
export function withUnavailableErrors(store: TaskStore, logger: Logger): TaskStore {
  if (!store.durable) return store;

  function translate(error: unknown): never {
    if (error instanceof A2AError) throw error;
    logger.error({ err: error }, 'task store unavailable');
    throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
  }
  function reached<Result>(ask: () => MaybePromise<Result>): MaybePromise<Result> {
    try {
      const answer = ask();
      return answer instanceof Promise ? answer.catch(translate) : answer;
    } catch (error) {
      return translate(error);
    }
  }

  function translated(cluster: StoreCluster): StoreCluster {
    return {
      get node() {
        return cluster.node;
      },
      get hasLease() {
        return cluster.hasLease;
      },
      leaseMs: cluster.leaseMs,
      join: (member) => cluster.join(member),
      leave: () => cluster.leave(),
      // `expire` logs the errors of `sweeps`.
      sweeps: (removesOld) => cluster.sweeps(removesOld),
      claim: (task, which) => cluster.claim(task, which).catch(translate),
      // `ClusterNode` logs the errors of `takeOver` and tries again, so they are not translated.
      takeOver: (limit) => cluster.takeOver(limit),
      release: (taskId, epoch) => cluster.release(taskId, epoch),
      watch: (taskId, seen) => cluster.watch(taskId, seen),
      unwatch: (taskId) => cluster.unwatch(taskId),
      ask: (node, request, signal, secrecy) =>
        cluster.ask(node, request, signal, secrecy).catch((error: unknown) => {
          // The client has left. This is no failure of the store.
          signal?.throwIfAborted();
          return translate(error);
        }),
      claimPush: (key) => cluster.claimPush(key).catch(translate),
      releasePush: (key) => cluster.releasePush(key),
    };
  }

  return {
    name: store.name,
    durable: store.durable,
    // The event log handles failed appends itself.
    append: (batch) => store.append(batch),
    head: (scope, taskId) => reached(() => store.head(scope, taskId)),
    read: (taskId, after, limit) => reached(() => store.read(taskId, after, limit)),
    findMessage: (scope, messageId) => reached(() => store.findMessage(scope, messageId)),
    list: (query) => reached(() => store.list(query)),
    unfinished: () => store.unfinished(),
    expired: (now, limit) => reached(() => store.expired(now, limit)),
    setExpiry: (scope, taskId, at) => reached(() => store.setExpiry(scope, taskId, at)),
    delete: (scope, taskId, seq) => reached(() => store.delete(scope, taskId, seq)),
    checkPush: store.checkPush && ((config) => store.checkPush?.(config)),
    savePush: (record) => reached(() => store.savePush(record)),
    listPush: (taskId) => reached(() => store.listPush(taskId)),
    deletePush: (taskId, configId, only) => reached(() => store.deletePush(taskId, configId, only)),
    savePushProgress: (changes) => reached(() => store.savePushProgress(changes)),
    duePush: (query) => reached(() => store.duePush(query)),
    deadLetters: (query) => reached(() => store.deadLetters(query)),
    // Callers of `probe` need the reason of the failure.
    probe: () => store.probe?.(),
    // The sweeps handle the errors of `retention`.
    retention: store.retention,
    cluster: store.cluster && translated(store.cluster),
    close: () => store.close(),
  };
}
