/**
 * Presents a task as a live session whose only client is this page. So the page can show the task's questions in the
 * dialog of live sessions.
 */
import type { LiveItem, LiveRole, LiveSession } from '../../../live/client/index.ts';
import type { Part } from '../../../protocol/index.ts';
import type { Server } from '../server/server.ts';
import { cancelTask, sendToTask, type TaskPlace } from '../server/tasks.ts';
import { OwnSession } from '../session/own-session.ts';

export class TaskSession extends OwnSession implements LiveSession {
  readonly #server: Server;
  readonly #place: TaskPlace;
  readonly #onSent: () => void;

  /**
   * `onSent` is called after each attempt to send a message to the task, so that the page reads the task's new events.
   */
  constructor(server: Server, place: TaskPlace, roles: readonly LiveRole[], onSent: () => void) {
    super('browser', roles);
    this.#onSent = onSent;
    this.#server = server;
    this.#place = place;
  }

  /** Yields nothing. The page reads the task's log itself, because it also shows earlier states of the task. */
  async *items(): AsyncGenerator<LiveItem> {}

  /** Calls `onSent` even if the task refuses the message, because another client may have answered first. */
  protected async send(parts: readonly Part[]): Promise<string> {
    await sendToTask(this.#server, this.#place, parts).finally(this.#onSent);
    return this.#place.taskId;
  }

  async cancel(): Promise<void> {
    await cancelTask(this.#server, this.#place);
  }

  async commands() {
    return [];
  }

  async close(): Promise<void> {}
}
