/** A task as a session of which this page is the only client, so that its questions are answered in the same dialog. */
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

  /** `onSent` is called when the task has got an answer, so that the page reads what it does with it. */
  constructor(server: Server, place: TaskPlace, roles: readonly LiveRole[], onSent: () => void) {
    this.#onSent = onSent;
    this.#server = server;
    this.#place = place;
    this.self = { id: 'page', name: 'browser', kind: 'a2a', roles };
  }

  /** The page reads the log itself, because it also shows its past. */
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

  /** Somebody else may have answered first, so the task is read after a refusal too. */
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
