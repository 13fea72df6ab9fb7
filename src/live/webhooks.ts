/**
 * Shows the webhooks of the session's task as clients of the session. A webhook receives all events, so it must appear
 * on the list of clients.
 */
import { A2AError } from '../protocol/index.ts';
import type { Logger, RequestHandler } from '../tasks/index.ts';
import type { LiveClient } from './client/session.ts';
import type { Conversation } from './conversation.ts';
import { OWN_CALL } from './session-task.ts';

interface WebhookOptions {
  readonly handler: RequestHandler;
  readonly conversation: Conversation;
  readonly logger: Logger;
  /** Called when the webhooks have changed. */
  readonly onChange: () => void;
}

export class Webhooks {
  readonly #options: WebhookOptions;
  #clients: readonly LiveClient[] = [];

  constructor(options: WebhookOptions) {
    this.#options = options;
    void this.#follow();
  }

  get clients(): readonly LiveClient[] {
    return this.#clients;
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
        id: `webhook-${own}`,
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
