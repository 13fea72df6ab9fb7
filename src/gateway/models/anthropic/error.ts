/** Errors in Anthropic's format. */
import { randomUUIDv7 } from 'node:crypto';
import type { A2AError } from '../../../protocol/index.ts';
import type { RouteAnswer } from '../../api/route.ts';
import type { ErrorFormat } from '../../api/serve-routes.ts';
import { MODEL_NOT_FOUND } from '../catalogue.ts';

/** Anthropic's status for an overloaded model. Its clients retry after it. */
const OVERLOADED = 529;

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  [OVERLOADED]: 'overloaded_error',
};

/** The header that all clients of Anthropic send. */
export const VERSION_HEADER = 'anthropic-version';

/** Errors at the paths of the Messages API, and at all paths below /v1 for clients of Anthropic. */
export const anthropicErrors: ErrorFormat = {
  applies: (path, request) =>
    /^\/v1\/messages(?:\/|$)/.test(path) ||
    (path.startsWith('/v1/') && request.header(VERSION_HEADER) !== undefined),
  error: errorAnswer,
};

export function newRequestId(): string {
  return `req_${randomUUIDv7()}`;
}

export function errorBody(
  error: A2AError,
  requestId = newRequestId(),
): { readonly type: 'error'; readonly error: object; readonly request_id: string } {
  const status = statusOf(error);
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message: error.message }, request_id: requestId };
}

export function errorAnswer(error: A2AError): RouteAnswer {
  const requestId = newRequestId();
  const status = statusOf(error);
  return { status, headers: { 'request-id': requestId }, body: errorBody(error, requestId) };
}

function statusOf({ kind, reason, httpStatus }: A2AError): number {
  if (reason === MODEL_NOT_FOUND) return 404;
  return kind === 'unavailable' ? OVERLOADED : httpStatus;
}
