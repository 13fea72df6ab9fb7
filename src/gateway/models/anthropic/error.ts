/** Errors in Anthropic's format. */
import { randomUUIDv7 } from 'node:crypto';
import type { A2AError } from '../../../protocol/index.ts';
import type { FailedRequest } from '../../../http/index.ts';
import type { RouteAnswer } from '../../api/route.ts';
import type { ErrorFormat } from '../../api/serve-routes.ts';
import { MODEL_NOT_FOUND } from '../catalogue.ts';
import { BUDGET_EXHAUSTED, CONTEXT_LENGTH_EXCEEDED } from '../failure.ts';

/** Anthropic's status for an overloaded model. Anthropic's clients retry after this status. */
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

/**
 * Returns whether a client of Anthropic's API sent the request. Such a client sends the header `anthropic-version`,
 * which Anthropic's API requires.
 */
export function isAnthropicClient(request: Pick<FailedRequest, 'header'>): boolean {
  return request.header('anthropic-version') !== undefined;
}

/**
 * The error format for the paths of the Messages API. For clients of Anthropic's API, it applies to all paths below
 * /v1.
 */
export const anthropicErrors: ErrorFormat = {
  applies: (path, request) =>
    /^\/v1\/messages(?:\/|$)/.test(path) || (path.startsWith('/v1/') && isAnthropicClient(request)),
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
  // Clients recognize this prefix and shorten the conversation.
  const prefix = error.reason === CONTEXT_LENGTH_EXCEEDED ? 'prompt is too long: ' : '';
  return { type: 'error', error: { type, message: prefix + error.message }, request_id: requestId };
}

export function errorAnswer(error: A2AError): RouteAnswer {
  const requestId = newRequestId();
  const status = statusOf(error);
  const headers = {
    'request-id': requestId,
    // Tells clients not to retry: usually, a retry cannot succeed before the budget's next period.
    ...(error.reason === BUDGET_EXHAUSTED && { 'x-should-retry': 'false' }),
  };
  return { status, headers, body: errorBody(error, requestId) };
}

function statusOf({ kind, reason, httpStatus }: A2AError): number {
  if (reason === MODEL_NOT_FOUND) return 404;
  return kind === 'unavailable' ? OVERLOADED : httpStatus;
}
