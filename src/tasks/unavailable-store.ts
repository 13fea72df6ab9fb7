/**
 * A store that cannot be reached is no fault of the caller's, and over soon perhaps: what it throws becomes
 * `unavailable`, with the cause in our log. What it refuses with an A2AError stays as it is.
 */
import type { MaybePromise } from '../base/index.ts';
import { A2AError } from '../protocol/index.ts';
import type { Logger } from './log/logger.ts';
import type { TaskStore } from './store/store.ts';

/** The store as operations see it. One that keeps nothing is never away, and is returned as it is. */
export function withUnavailableErrors(store: TaskStore, logger: Logger): TaskStore {
  if (!store.durable) return store;

  function translate(error: unknown): never {
    if (error instanceof A2AError) throw error;
    logger.error({ err: error }, 'the store is away');
    throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
  }
  /** At once where the store answers at once. */
  function reached<Result>(ask: () => MaybePromise<Result>): MaybePromise<Result> {
    try {
      const answer = ask();
      return answer instanceof Promise ? answer.catch(translate) : answer;
    } catch (error) {
      return translate(error);
    }
  }

  return {
    name: store.name,
    durable: store.durable,
    // Its failure is the log's business: whoever waits for what was appended is told by it.
    append: (batch) => store.append(batch),
    head: (scope, taskId) => reached(() => store.head(scope, taskId)),
    read: (taskId, after, limit) => reached(() => store.read(taskId, after, limit)),
    findMessage: (scope, messageId) => reached(() => store.findMessage(scope, messageId)),
    list: (query) => reached(() => store.list(query)),
    unfinished: () => store.unfinished(),
    expired: (now, limit) => reached(() => store.expired(now, limit)),
    setExpiry: (scope, taskId, at) => reached(() => store.setExpiry(scope, taskId, at)),
    delete: (scope, taskId) => reached(() => store.delete(scope, taskId)),
    savePush: (record) => reached(() => store.savePush(record)),
    listPush: (taskId) => reached(() => store.listPush(taskId)),
    deletePush: (taskId, configId) => reached(() => store.deletePush(taskId, configId)),
    close: () => store.close(),
  };
}
