/** The common part of the sessions that this page makes itself. The page is the only client of such a session. */
import type { LiveClient, LiveRole } from '../../../live/client/index.ts';
import type { ToolCallConfirmation } from '../../../protocol/development-tool/index.ts';
import { A2AError, type Part } from '../../../protocol/index.ts';

export abstract class OwnSession {
  readonly self: LiveClient;

  constructor(name: string, roles: readonly LiveRole[]) {
    this.self = { id: 'page', name, kind: 'a2a', roles };
  }

  /** Sends a message. Resolves with the id of its task. */
  protected abstract send(parts: Part[]): Promise<string>;

  async prompt(content: string | readonly Part[]) {
    const parts: Part[] =
      typeof content === 'string' ? [{ kind: 'text', text: content }] : [...content];
    return { queued: false, taskId: await this.send(parts) };
  }

  async confirm(confirmation: ToolCallConfirmation): Promise<void> {
    await this.send([{ kind: 'data', data: { ...confirmation } }]);
  }

  async execute(): Promise<never> {
    throw new A2AError('unsupportedOperation', 'Send the command as a prompt');
  }

  async clients(): Promise<readonly LiveClient[]> {
    return [this.self];
  }
}
