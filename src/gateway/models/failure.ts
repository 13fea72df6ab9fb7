/**
 * Creates the errors that callers get if a model fails. An error contains the caller's name for the model and the kind
 * of failure. The provider's message, its address and its name for the model are only in the log.
 */
import { ModelError, type ModelErrorCode } from '../../agent/index.ts';
import { A2AError, type ErrorKind } from '../../protocol/index.ts';
import type { Used } from './cost.ts';

const WORDS: Readonly<Record<ModelErrorCode, readonly [ErrorKind, string]>> = {
  'no-key': ['upstreamFailed', 'cannot be used: the gateway has no valid key for it'],
  'bad-key': ['upstreamFailed', 'cannot be used: the gateway has no valid key for it'],
  'not-found': ['upstreamFailed', 'does not exist at its provider'],
  'invalid-request': ['invalidParams', 'rejected the request'],
  'too-long': ['invalidParams', 'cannot process an input of this length: send less'],
  'no-credit': [
    'upstreamFailed',
    "cannot be used: the gateway's account at its provider has no credit or quota left",
  ],
  'rate-limit': ['rateLimited', 'is rate-limited by its provider: try again later'],
  overloaded: ['unavailable', 'is overloaded: try again later'],
  unreachable: ['upstreamFailed', 'is unreachable: try again later'],
  timeout: ['upstreamTimeout', 'did not answer in time: try again later'],
  'cut-off': ['upstreamFailed', 'failed in the middle of its answer: try again'],
  refused: ['invalidParams', 'refused to answer'],
  exhausted: ['upstreamFailed', 'has no more scripted answers'],
  failed: ['upstreamFailed', 'failed: try again later'],
};

/**
 * Converts a ModelError to an error for the caller. `name` is the caller's name for the model. `as` is the name of the
 * model in the message of `error`. If this message is passed on to the caller, `name` replaces `as` in the message.
 */
export function failureOf(error: ModelError, name: string, as?: string): A2AError {
  const [kind, words] = WORDS[error.code];
  const { retryAfterMs } = error;
  const detail = retryAfterMs !== undefined && {
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  };
  // An `invalid-request` error without a status comes from our own code. Its message is safe for callers, and explains
  // what to change.
  const own = error.code === 'invalid-request' && error.status === undefined && as !== undefined;
  const message = own ? error.message.replaceAll(as, name) : `${name} ${words}`;
  // The vendor's code tells clients whether to shorten the conversation or to change the request.
  const reason = kind === 'invalidParams' ? error.vendorCode?.toUpperCase() : undefined;
  return new A2AError(kind, `The model ${message}`, {
    ...detail,
    ...(reason !== undefined && { reason }),
  });
}

/** The `reason` of an error about a prompt that is too long. Clients that recognize it shorten the conversation. */
export const CONTEXT_LENGTH_EXCEEDED = 'CONTEXT_LENGTH_EXCEEDED';

/**
 * The `reason` of the error if a budget is used up or too small for the call, or if a task has made its maximum number
 * of calls (budgets/refusal.ts).
 */
export const BUDGET_EXHAUSTED = 'BUDGET_EXHAUSTED';

/** Thrown if a model fails after its answer has started. No other provider is tried, and the usage is charged. */
export class CutOff extends A2AError {
  readonly used: Used;

  constructor(name: string, used: Used) {
    const message = `The model ${name} failed in the middle of its answer: try again`;
    super('upstreamFailed', message, { reason: 'MODEL_CUT_OFF' });
    this.used = used;
  }
}

/** Returns whether another provider may succeed. An error about the request itself would occur with every provider. */
export function failsOver({ code }: ModelError): boolean {
  return code !== 'invalid-request' && code !== 'too-long' && code !== 'refused';
}

/**
 * Returns whether the circuit breaker counts the error. Errors that the caller's request may have caused are not
 * counted. Examples are an unknown model (404), and a model that the gateway's key for the provider may not use (403).
 * Rate limits of the provider and a lack of credit are not counted either.
 */
export function isProviderFault(error: ModelError): boolean {
  const { code, status = 0 } = error;
  if (!failsOver(error) || code === 'not-found' || code === 'rate-limit' || code === 'no-credit') {
    return false;
  }
  // 401: the gateway's key is wrong. 408: the provider timed out.
  return status < 400 || status >= 500 || status === 401 || status === 408;
}

/**
 * Returns whether the model must not be called at this provider for a while. This is the case if the provider reported
 * a rate limit with Retry-After, or if the account has no credit left.
 */
export function pausesProvider({ code, retryAfterMs }: ModelError): boolean {
  return code === 'no-credit' || (code === 'rate-limit' && retryAfterMs !== undefined);
}
