/**
 * Errors for callers when a model does not answer: the model's name and the kind of failure. The provider's message,
 * address and model name go to the log only.
 */
import { ModelError, type ModelErrorCode } from '../../agent/index.ts';
import { A2AError, type ErrorKind } from '../../protocol/index.ts';
import type { Used } from './cost.ts';

const WORDS: Readonly<Record<ModelErrorCode, readonly [ErrorKind, string]>> = {
  'no-key': ['upstreamFailed', 'cannot be used: the gateway has no valid key for it'],
  'bad-key': ['upstreamFailed', 'cannot be used: the gateway has no valid key for it'],
  'not-found': ['upstreamFailed', 'does not exist at its provider'],
  'invalid-request': ['invalidParams', 'rejected the request'],
  'too-long': ['invalidParams', 'cannot process so much input: send less'],
  'rate-limit': ['rateLimited', 'is rate-limited by its provider: try again later'],
  overloaded: ['unavailable', 'is overloaded: try again later'],
  unreachable: ['upstreamFailed', 'is unreachable: try again later'],
  timeout: ['upstreamTimeout', 'did not answer in time: try again later'],
  'cut-off': ['upstreamFailed', 'broke off its answer: try again'],
  refused: ['invalidParams', 'refused to answer'],
  exhausted: ['upstreamFailed', 'has no more scripted answers'],
  failed: ['upstreamFailed', 'failed: try again later'],
};

/** `as` is the model's name in the error's message. It is replaced by `name`, the name that the caller uses. */
export function failureOf(error: ModelError, name: string, as?: string): A2AError {
  const [kind, words] = WORDS[error.code];
  const { retryAfterMs } = error;
  const detail = retryAfterMs !== undefined && {
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  };
  // Without a status the request was rejected on our side: the message is ours and says what to change.
  const own = error.code === 'invalid-request' && error.status === undefined && as !== undefined;
  const message = own ? error.message.replaceAll(as, name) : `${name} ${words}`;
  return new A2AError(kind, `The model ${message}`, detail || {});
}

/** An answer that broke off after it had started. No other provider is tried, and the usage is charged. */
export class CutOff extends A2AError {
  readonly used: Used;

  constructor(name: string, used: Used) {
    super('upstreamFailed', `The model ${name} broke off in the middle of its answer: try again`, {
      reason: 'MODEL_CUT_OFF',
    });
    this.used = used;
  }
}

/** Whether another provider may succeed. Errors about the request itself would be the same everywhere. */
export function failsOver({ code }: ModelError): boolean {
  return code !== 'invalid-request' && code !== 'too-long' && code !== 'refused';
}

/**
 * Whether the error counts for the circuit breaker. Unknown models, models that the key may not use (403) and rate
 * limits do not: otherwise one workspace's card for such a model would block the provider for all others.
 */
export function isProviderFault(error: ModelError): boolean {
  const { code, status } = error;
  return failsOver(error) && code !== 'not-found' && code !== 'rate-limit' && status !== 403;
}
