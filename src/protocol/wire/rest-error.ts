/** Encodes the bodies of REST errors. */
import { ERRORS, type A2AError } from '../errors.ts';
import type { ProtocolVersion } from '../version.ts';
import { errorData, errorDetails } from './error.ts';

/**
 * Encodes the body of a REST error. 1.0 specifies google.rpc.Status, with the HTTP status as its code. 0.3 specifies
 * a JSON-RPC error "or equivalent". The SDKs of 0.3 send and expect the JSON-RPC error itself, without an enclosing
 * `error` member.
 */
export function encodeRestError(error: A2AError, version: ProtocolVersion): object {
  if (version === '0.3') {
    const data = errorData(error);
    return { code: error.code, message: error.message, ...(data !== undefined && { data }) };
  }
  return {
    error: {
      code: error.httpStatus,
      status: ERRORS[error.kind].status,
      message: error.message,
      details: errorDetails(error, true),
    },
  };
}
