/**
 * Presents a task as a live session whose only client is this page. So the page can show the task's questions in the
 * dialog of live sessions.
 */
import type { LiveClient, LiveItem, LiveRole, LiveSession } from '../../../live/client/index.ts';
import type { ToolCallConfirmation } from '../../../protocol/development-tool/index.ts';
import { A2AError, type Part } from '../../../protocol/index.ts';
import type { Server } from '../server/server.ts';
import { cancelTask, sendToTask } from '../server/task-actions.ts';
import type { TaskPlace } from '../server/task-log.ts';

export class TaskSession implements LiveSession {
  readonly self: LiveClient;
  readonly #server: Server;
  readonly #place: TaskPlace;
  readonly #onSent: () => void;

  /**
   * `onSent` is called after each attempt to send a message to the task, so that the page reads the task's new events.
   */
  constructor(server: Server, place: TaskPlace, roles: readonly LiveRole[], onSent: () => void) {
    this.#onSent = onSent;
    this.#server = server;
    this.#place = place;
    this.self = { id: 'page', name: 'browser', kind: 'a2a', roles };
  }

  /** Yields nothing. The page reads the task's log itself, because it also shows earlier states of the task. */
  async *items(): AsyncGenerator<LiveItem> {}

  async prompt(content: string | readonly Part[]) {
    const parts =
      typeof content === 'string' ? [{ kind: 'text' as const, text: content }] : content;
    await this.#send(parts);
    return { queued: false, taskId: this.#place.taskId };
  }

  async confirm(confirmation: ToolCallConfirmation): Promise<void> {
    await this.#send([{ kind: 'data', data: { ...confirmation } }]);
  }

  /** Calls `onSent` even if the task refuses the message, because another client may have answered first. */
  async #send(parts: readonly Part[]): Promise<void> {
    await sendToTask(this.#server, this.#place, parts).finally(this.#onSent);
  }

  async cancel(): Promise<void> {
    await cancelTask(this.#server, this.#place);
  }

  async commands() {
    return [];
  }

  async execute(): Promise<never> {
    throw new A2AError('unsupportedOperation', 'Send the command as a prompt');
  }

  async clients() {
    return [this.self];
  }

  async close(): Promise<void> {}
}
