/** Errors in Google's format. */
import { A2AError, ERRORS } from '../../../protocol/index.ts';
import type { RouteAnswer } from '../../api/route.ts';
import type { ErrorFormat } from '../../api/serve-routes.ts';
import { MODEL_NOT_FOUND } from '../catalogue.ts';
import { CONTEXT_LENGTH_EXCEEDED } from '../failure.ts';

const TYPE = 'type.googleapis.com/google.rpc.';
const DOMAIN = 'generativelanguage.googleapis.com';

export const googleErrors: ErrorFormat = {
  applies: (path) => /^\/v1beta(?:\/|$)/.test(path),
  error: errorAnswer,
};

export function errorBody(error: A2AError): object {
  const { reason, detail } = error;
  const { status } = ERRORS[kindOf(error)];
  const { violations = [], retryAfterSeconds } = detail;
  // Clients recognize this prefix and shorten the conversation.
  const prefix =
    reason === CONTEXT_LENGTH_EXCEEDED
      ? 'The input token count exceeds the maximum number of tokens allowed. '
      : '';
  const details = [
    { '@type': `${TYPE}ErrorInfo`, reason, domain: DOMAIN },
    ...(violations.length > 0
      ? [{ '@type': `${TYPE}BadRequest`, fieldViolations: violations }]
      : []),
    ...(retryAfterSeconds === undefined
      ? []
      : [{ '@type': `${TYPE}RetryInfo`, retryDelay: `${retryAfterSeconds}s` }]),
  ];
  return { error: { code: statusOf(error), message: prefix + error.message, status, details } };
}

export function errorAnswer(error: A2AError): RouteAnswer {
  return { status: statusOf(error), body: errorBody(error) };
}

function statusOf(error: A2AError): number {
  return ERRORS[kindOf(error)].http;
}

/**
 * Returns the kind of the error in Google's API. An unknown model or method is `notFound`, because its name is part of
 * the path.
 */
function kindOf({ kind, reason }: A2AError): A2AError['kind'] {
  return reason === MODEL_NOT_FOUND || kind === 'methodNotFound' ? 'notFound' : kind;
}
