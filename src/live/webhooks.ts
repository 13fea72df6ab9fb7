/**
 * Shows the webhooks of the session's task as clients of the session. A webhook receives all events, so it must appear
 * on the list of clients.
 */
import { A2AError, type PushNotificationConfig } from '../protocol/index.ts';
import type { Logger, RequestHandler } from '../tasks/index.ts';
import type { LiveClient } from './client/session.ts';
import type { Conversation } from './conversation.ts';
import { OWN_CALL } from './session-task.ts';

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
  /** The URLs of webhooks that each token has given. */
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

  /** Returns whether a client with this token has given the URL of a webhook, and `removeOf` has not succeeded yet. */
  hasAny(token: string): boolean {
    return this.#urls.has(token);
  }

  /**
   * Removes the webhooks of the current task whose URLs a client with this token has given. This includes webhooks of
   * other clients with the same URL. Called when the token is revoked. If it fails, it can be called again.
   */
  async removeOf(token: string): Promise<void> {
    const urls = this.#urls.get(token);
    if (!urls) return;
    await this.#remove(({ url }) => urls.has(url));
    this.#urls.delete(token);
  }

  /** Removes a webhook by its id in the list of clients. Returns false if there is no such webhook. */
  remove(client: string): Promise<boolean> {
    return this.#remove(({ id }) => clientId(id) === client);
  }

  async #remove(unwanted: (config: PushNotificationConfig) => boolean): Promise<boolean> {
    const { handler, conversation } = this.#options;
    const { id } = conversation.task;
    const configs = await handler.listPushConfigs({ id }, OWN_CALL);
    const removed = configs.filter((each) => unwanted(each.pushNotificationConfig));
    for (const { pushNotificationConfig: config } of removed) {
      const params = { id, pushNotificationConfigId: config.id ?? '' };
      await handler.deletePushConfig(params, OWN_CALL);
    }
    await this.refresh();
    return removed.length > 0;
  }

  /** Reads the webhooks of the current task. Call it after a client has added or removed one. */
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
