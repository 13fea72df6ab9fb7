/** Errors in OpenAI's format. */
import type { A2AError } from '../../../protocol/index.ts';
import type { RouteAnswer } from '../../api/route.ts';
import type { ErrorFormat } from '../../api/serve-routes.ts';
import { MODEL_NOT_FOUND } from '../catalogue.ts';
import { BUDGET_EXHAUSTED } from '../failure.ts';

/** Matches paths of OpenAI's API. Includes paths that the gateway does not serve, so that a 404 has OpenAI's format. */
const PATHS = /^\/v1\/(?:chat|completions|embeddings|models|responses)(?:\/|$)/;

export const openaiErrors: ErrorFormat = {
  applies: (path) => PATHS.test(path),
  error: errorAnswer,
};

export function errorBody(error: A2AError): unknown {
  const { message, httpStatus, reason, detail } = error;
  const param = reason === MODEL_NOT_FOUND ? 'model' : (detail.violations?.[0]?.field ?? null);
  return { error: { message, type: typeOf(httpStatus, reason), param, code: openaiCode(error) } };
}

export function errorAnswer(error: A2AError): RouteAnswer {
  // Usually, a retry cannot succeed before the budget's next period. Without this header, OpenAI's clients would retry.
  const isFinal = error.reason === BUDGET_EXHAUSTED;
  const headers: Record<string, string> = isFinal ? { 'x-should-retry': 'false' } : {};
  return { status: error.httpStatus, headers, body: errorBody(error) };
}

function typeOf(status: number, reason: string): string {
  if (reason === BUDGET_EXHAUSTED) return 'insufficient_quota';
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** Returns the code of the error in OpenAI's API, such as `model_not_found`. Returns null if the error has no code. */
export function openaiCode({ reason, httpStatus, detail }: A2AError): string | null {
  if (reason === BUDGET_EXHAUSTED) return 'insufficient_quota';
  if (httpStatus === 401) return 'invalid_api_key';
  if (httpStatus === 429) return 'rate_limit_exceeded';
  return detail.reason !== undefined || httpStatus >= 500 ? reason.toLowerCase() : null;
}
