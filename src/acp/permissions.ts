/**
 * The calls that a client is asked about.
 *
 * Each is asked once per request. The first answer counts, wherever it comes from: when it was another's, the request
 * is withdrawn with `$/cancel_request`, and what the client says to it then is not heard.
 */
import {
  methods,
  type AgentContext,
  type PermissionOption,
  type PermissionOptionKind,
  type RequestPermissionRequest,
} from '@agentclientprotocol/sdk';
import type { LiveSession } from '../live/client/index.ts';
import type { ConfirmationOption, ToolCall } from '../protocol/development-tool/index.ts';
import { A2AError } from '../protocol/index.ts';
import type { Logger } from '../tasks/index.ts';
import { toolView } from './tool-view.ts';

/** The option of a question that is answered in words. */
const IN_WORDS = 'answer';
/** Needs the new content as well, which an ACP client has no way to send. */
const MODIFY = 'modify';

export interface PermissionsOptions {
  readonly client: AgentContext;
  readonly session: LiveSession;
  readonly sessionId: string;
  readonly workspace: string;
  readonly logger: Logger;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

export class Permissions {
  readonly #options: PermissionsOptions;
  readonly #open = new Map<string, { correlationId?: string; withdrawal: AbortController }>();

  constructor(options: PermissionsOptions) {
    this.#options = options;
  }

  /** Asks, unless this was asked before, is asked in words, or the client may not answer. */
  ask(call: ToolCall): void {
    const { client, session, sessionId, workspace, logger, signal } = this.#options;
    const { tool_call_id: id, correlationId, confirmation_request: request } = call;
    if (!request || isAskedInWords(call) || !session.self.roles.includes('approve')) return;
    const before = this.#open.get(id);
    if (before && before.correlationId === correlationId) return;
    this.withdraw(id);
    const withdrawal = new AbortController();
    this.#open.set(id, { ...(correlationId !== undefined && { correlationId }), withdrawal });
    const options = request.options.filter((option) => option.id !== MODIFY).map(optionOf);
    const question: RequestPermissionRequest = {
      sessionId,
      toolCall: toolView(call, workspace),
      options,
    };
    client
      .request(methods.client.session.requestPermission, question, {
        cancellationSignal: withdrawal.signal,
        stopWaitingOnCancel: true,
      })
      .then(async ({ outcome }) => {
        if (this.#open.get(id)?.withdrawal === withdrawal) this.#open.delete(id);
        // A client that cancels the turn says so itself; one that only looks away leaves the answer to others.
        if (outcome.outcome !== 'selected') return;
        await session.confirm({
          tool_call_id: id,
          selected_option_id: outcome.optionId,
          ...(correlationId !== undefined && { correlationId }),
        });
      })
      .catch((error: unknown) => {
        if (withdrawal.signal.aborted || signal.aborted || isLate(error)) return;
        logger.warn({ err: error, call: id }, 'a permission was not answered');
      });
  }

  withdraw(id: string): void {
    const open = this.#open.get(id);
    this.#open.delete(id);
    open?.withdrawal.abort();
  }

  withdrawAll(): void {
    for (const id of this.#open.keys()) this.withdraw(id);
  }
}

/** Whether the next prompt is the answer. */
export function isAskedInWords({ confirmation_request: request }: ToolCall): boolean {
  return request?.options.some(({ id }) => id === IN_WORDS) ?? false;
}

function optionOf({ id, name }: ConfirmationOption): PermissionOption {
  return { optionId: id, name, kind: kindOf(id) };
}

function kindOf(id: string): PermissionOptionKind {
  if (id === 'cancel') return 'reject_once';
  return id.startsWith('proceed_always') ? 'allow_always' : 'allow_once';
}

function isLate(error: unknown): boolean {
  return error instanceof A2AError && error.reason === 'ALREADY_RESOLVED';
}
