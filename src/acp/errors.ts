/** Converts errors for ACP. A2A error codes are never passed on, because the same codes have other meanings in ACP. */
import { RequestError } from '@agentclientprotocol/sdk';
import { A2AError } from '../protocol/index.ts';
import type { Logger } from '../tasks/index.ts';

const INTERNAL = -32603;
const NOT_FOUND = -32002;

/** Returns the error to send to the client. Details of unexpected errors go only to the server's log. */
export function requestError(error: unknown, logger: Logger): RequestError {
  if (error instanceof RequestError) return error;
  if (!(error instanceof A2AError)) {
    logger.error({ err: error }, 'an ACP request failed');
    return RequestError.internalError();
  }
  const { message, reason } = error;
  if (error.kind === 'taskNotFound') return new RequestError(NOT_FOUND, 'Session not found');
  if (error.kind === 'unauthenticated') return RequestError.authRequired({}, message);
  if (error.kind === 'invalidParams') return RequestError.invalidParams({ reason }, message);
  return new RequestError(INTERNAL, message, { reason });
}
