/**
 * Sends permission requests to the client.
 *
 * A confirmation request is not sent again while it is open. The first answer from any client counts. If another client
 * answers first, the request is withdrawn with `$/cancel_request`, and a later reply to it is ignored.
 */
import {
  methods,
  type AgentContext,
  type PermissionOption,
  type PermissionOptionKind,
  type RequestPermissionRequest,
} from '@agentclientprotocol/sdk';
import type { LiveSession } from '../live/client/index.ts';
import {
  confirmationOf,
  isAlreadyResolved,
  isOpenQuestion,
  OPTION,
  requestId,
  type ConfirmationOption,
  type ToolCall,
} from '../protocol/development-tool/index.ts';
import type { Logger } from '../tasks/index.ts';
import { toolView } from './tool-view.ts';

export interface PermissionsOptions {
  readonly client: AgentContext;
  readonly session: LiveSession;
  readonly sessionId: string;
  readonly workspace: string;
  readonly logger: Logger;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /**
   * Called when the person wants to answer a question with a text. A permission response of ACP has no field for a
   * text.
   */
  readonly onWords: (call: ToolCall) => Promise<void>;
}

export function permissionRequests(options: PermissionsOptions) {
  const { client, session, sessionId, workspace, logger, signal, onWords } = options;
  /** The open requests, by the ids of their calls. */
  const open = new Map<string, { request: string; withdrawal: AbortController }>();

  function withdraw(id: string): void {
    const opened = open.get(id);
    open.delete(id);
    opened?.withdrawal.abort();
  }

  return {
    /**
     * Sends the confirmation request of a call. Does nothing if the request is already open, if it can be answered only
     * with a text, or if the client may not approve.
     */
    ask(call: ToolCall): void {
      const { tool_call_id: id, confirmation_request: request } = call;
      if (!request || isOpenQuestion(call) || !session.self.roles.includes('approve')) return;
      if (open.get(id)?.request === requestId(call)) return;
      withdraw(id);
      const withdrawal = new AbortController();
      open.set(id, { request: requestId(call), withdrawal });
      const question: RequestPermissionRequest = {
        sessionId,
        toolCall: toolView(call, workspace),
        // `modify` is left out, because its answer must contain the new content, and ACP has no field for content.
        options: request.options.filter((option) => option.id !== OPTION.modify).map(optionOf),
      };
      client
        .request(methods.client.session.requestPermission, question, {
          cancellationSignal: withdrawal.signal,
          stopWaitingOnCancel: true,
        })
        .then(async ({ outcome }) => {
          if (open.get(id)?.withdrawal === withdrawal) open.delete(id);
          // A dismissed dialog is not an answer. The question stays open, and another client may answer it.
          if (outcome.outcome !== 'selected') return;
          if (outcome.optionId === OPTION.words) return onWords(call);
          await session.confirm(confirmationOf(call, outcome.optionId));
        })
        .catch((error: unknown) => {
          if (withdrawal.signal.aborted || signal.aborted || isAlreadyResolved(error)) return;
          logger.warn({ err: error, call: id }, 'a permission request failed');
        });
    },
    withdraw,
    withdrawAll(): void {
      for (const id of open.keys()) withdraw(id);
    },
  };
}

function optionOf({ id, name }: ConfirmationOption): PermissionOption {
  return { optionId: id, name, kind: kindOf(id) };
}

function kindOf(id: string): PermissionOptionKind {
  if (id === OPTION.cancel) return 'reject_once';
  return id.startsWith('proceed_always') ? 'allow_always' : 'allow_once';
}
