/**
 * Shows the webhooks of the session's task as clients of the session. A webhook receives all events, so it must appear
 * on the list of clients.
 *
 * When a session of `parley` ends, its webhooks are removed, because the tokens of its clients become invalid too. The
 * webhooks of a session of `parley serve` belong to the session's user and stay.
 */
import { A2AError, type PushNotificationConfig } from '../protocol/index.ts';
import type { Logger, RequestHandler, TaskStore } from '../tasks/index.ts';
import type { LiveClient } from './client/session.ts';
import type { Conversation } from './conversation.ts';
import { OWN_CALL } from './session-task.ts';

/** Number of tasks that are listed with one query. */
const PAGE = 100;

interface WebhookOptions {
  readonly handler: RequestHandler;
  readonly conversation: Conversation;
  readonly logger: Logger;
  /** Called when the webhooks may have changed. */
  readonly onChange: () => void;
}

export class Webhooks {
  readonly #options: WebhookOptions;
  #clients: readonly LiveClient[] = [];
  /** The URLs of the webhooks that clients have given, by the id of their token. */
  readonly #urls = new Map<string, Set<string>>();

  constructor(options: WebhookOptions) {
    this.#options = options;
    void this.#follow();
  }

  get clients(): readonly LiveClient[] {
    return this.#clients;
  }

  /** Records that the client with this token gives the URL of a webhook. */
  added(token: string | undefined, url: string): void {
    if (token === undefined) return;
    const urls = this.#urls.get(token) ?? new Set();
    this.#urls.set(token, urls.add(url));
  }

  /** Returns whether clients with this token have given URLs of webhooks that `removeOf` has not removed yet. */
  hasAny(token: string): boolean {
    return this.#urls.has(token);
  }

  /**
   * Removes the webhooks whose URLs a client with this token has given. Removes them from earlier tasks too, because
   * the last events of these tasks may not be delivered yet. Webhooks of other clients with the same URLs are also
   * removed. Called when the token is revoked. If it fails, it can be called again.
   */
  async removeOf(token: string): Promise<void> {
    const urls = this.#urls.get(token);
    if (!urls) return;
    const { former, task } = this.#options.conversation;
    for (const id of [...former, task.id]) await this.#remove(id, ({ url }) => urls.has(url));
    await this.refresh();
    this.#urls.delete(token);
  }

  /** Removes a webhook by its id in the list of clients. Returns false if there is no such webhook. */
  async remove(client: string): Promise<boolean> {
    const { id } = this.#options.conversation.task;
    const removed = await this.#remove(id, (config) => clientId(config.id) === client);
    await this.refresh();
    return removed;
  }

  /** Removes the unwanted webhooks of a task. Returns whether there were any. */
  async #remove(
    id: string,
    unwanted: (config: PushNotificationConfig) => boolean,
  ): Promise<boolean> {
    const { handler } = this.#options;
    const configs = await handler.listPushConfigs({ id }, OWN_CALL).catch((error: unknown) => {
      // The webhooks of a deleted task are deleted with it.
      if (error instanceof A2AError && error.kind === 'taskNotFound') return [];
      throw error;
    });
    const removed = configs.filter((each) => unwanted(each.pushNotificationConfig));
    for (const { pushNotificationConfig: config } of removed) {
      const params = { id, pushNotificationConfigId: config.id ?? '' };
      await handler.deletePushConfig(params, OWN_CALL);
    }
    return removed.length > 0;
  }

  /** Reads the webhooks of the current task. Call it after a client has added or removed a webhook. */
  async refresh(): Promise<void> {
    const { handler, conversation, logger, onChange } = this.#options;
    const { id } = conversation.task;
    try {
      const configs = await handler.listPushConfigs({ id }, OWN_CALL);
      if (conversation.task.id !== id) return;
      const before = this.#clients.length;
      this.#clients = configs.map(({ pushNotificationConfig: { id: own = '', url } }) => ({
        id: clientId(own),
        name: `webhook ${URL.parse(url)?.host ?? ''}`.trim(),
        kind: 'a2a',
        roles: ['view'],
      }));
      if (before > 0 || this.#clients.length > 0) onChange();
    } catch (error) {
      if (error instanceof A2AError && error.kind === 'pushNotSupported') return;
      if (!conversation.closed) logger.warn({ err: error }, 'failed to read the webhooks');
    }
  }

  /** Reads the webhooks again whenever the conversation moves to a new task, because each task has its own webhooks. */
  async #follow(): Promise<void> {
    const { conversation } = this.#options;
    let taskId: string | undefined = conversation.task.id;
    while (taskId !== undefined) {
      await this.refresh();
      taskId = await conversation.taskAfter(taskId);
    }
  }
}

function clientId(config: string | undefined): string {
  return `webhook-${config ?? ''}`;
}

/**
 * Removes the webhooks of all tasks of a session that belongs to no user. It uses the store and not the handler,
 * because it may be called before `recover`. Before `recover`, a request to the handler would end a task whose
 * execution was interrupted by a crash, instead of continuing it.
 */
export async function removeWebhooks(store: TaskStore, contextId: string): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = { limit: PAGE, cursor, total: false } as const;
    const { heads, next } = await store.list({ tenant: '', owner: '', contextId, ...page });
    for (const { taskId } of heads) {
      for (const { config } of await store.listPush(taskId)) {
        await store.deletePush(taskId, config.id);
      }
    }
    cursor = next;
  } while (cursor !== undefined);
}

/**
 * Changes `store.close`, so that it first removes the webhooks of a session. The server calls `close` after it has
 * delivered the last events.
 */
export function removeWebhooksAtEnd(store: TaskStore, contextId: string, logger: Logger): void {
  const close = store.close.bind(store);
  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await removeWebhooks(store, contextId).catch((error: unknown) => {
      logger.warn({ err: error }, 'failed to remove the webhooks of the session');
    });
    await close();
  };
  store.close = () => (closing ??= end());
}
