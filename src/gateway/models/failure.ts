/**
 * Creates errors for callers when a model does not answer. They contain the model's name and the kind of failure. The
 * provider's message, address and name for the model are only in the log.
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
 * Converts a ModelError to an error for the caller. `as` is the model's name in the message of `error`. It is replaced
 * by `name`, the caller's name for the model.
 */
export function failureOf(error: ModelError, name: string, as?: string): A2AError {
  const [kind, words] = WORDS[error.code];
  const { retryAfterMs } = error;
  const detail = retryAfterMs !== undefined && {
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  };
  // Without a status, our own code rejected the request. Then the message is our own, and explains what to change.
  const own = error.code === 'invalid-request' && error.status === undefined && as !== undefined;
  const message = own ? error.message.replaceAll(as, name) : `${name} ${words}`;
  // Clients shorten the conversation or change the request according to the code.
  const reason = kind === 'invalidParams' ? error.vendorCode?.toUpperCase() : undefined;
  return new A2AError(kind, `The model ${message}`, {
    ...detail,
    ...(reason !== undefined && { reason }),
  });
}

/** Thrown if a model fails after its answer has started. No other provider is tried, and the usage is charged. */
export class CutOff extends A2AError {
  readonly used: Used;

  constructor(name: string, used: Used) {
    super('upstreamFailed', `The model ${name} failed in the middle of its answer: try again`, {
      reason: 'MODEL_CUT_OFF',
    });
    this.used = used;
  }
}

/** Whether another provider may succeed. An error about the request itself would occur with every provider. */
export function failsOver({ code }: ModelError): boolean {
  return code !== 'invalid-request' && code !== 'too-long' && code !== 'refused';
}

/**
 * Whether the circuit breaker counts the error. It does not count unknown models, models that the key may not use
 * (403), and rate limits. Otherwise one workspace's card for such a model would block the provider for all other
 * workspaces.
 */
export function isProviderFault(error: ModelError): boolean {
  const { code, status } = error;
  return failsOver(error) && code !== 'not-found' && code !== 'rate-limit' && status !== 403;
}
