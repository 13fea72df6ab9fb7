/**
 * What a caller is told when a model gives no answer: which model, and why, in our own words. What the provider said,
 * where it is and what it is called there goes to the log.
 */
import { ModelError, type ModelErrorCode } from '../../agent/index.ts';
import { A2AError, type ErrorKind } from '../../protocol/index.ts';
import type { Used } from './cost.ts';

const WORDS: Readonly<Record<ModelErrorCode, readonly [ErrorKind, string]>> = {
  'no-key': ['upstreamFailed', 'cannot be used: the gateway has no valid key for it'],
  'bad-key': ['upstreamFailed', 'cannot be used: the gateway has no valid key for it'],
  'not-found': ['upstreamFailed', 'is not known to its provider'],
  'invalid-request': ['invalidParams', 'does not take this request'],
  'too-long': ['invalidParams', 'cannot take this much: send less'],
  'rate-limit': ['rateLimited', 'has too many requests at the moment: try again later'],
  overloaded: ['unavailable', 'cannot answer at the moment: try again later'],
  unreachable: ['upstreamFailed', 'cannot be reached: try again later'],
  timeout: ['upstreamTimeout', 'did not answer in time: try again later'],
  'cut-off': ['upstreamFailed', 'broke off its answer: try again'],
  refused: ['invalidParams', 'refuses to answer this'],
  exhausted: ['upstreamFailed', 'has no answer left'],
  failed: ['upstreamFailed', 'failed: try again later'],
};

/** `as`: how the model is called in the error's own text, instead of which the caller reads `name`. */
export function failureOf(error: ModelError, name: string, as?: string): A2AError {
  const [kind, words] = WORDS[error.code];
  const { retryAfterMs } = error;
  const detail = retryAfterMs !== undefined && {
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  };
  // Without a status it was found out on our side, in our words, and says what to leave out.
  const own = error.code === 'invalid-request' && error.status === undefined && as !== undefined;
  const message = own ? error.message.replaceAll(as, name) : `${name} ${words}`;
  return new A2AError(kind, `The model ${message}`, detail || {});
}

/** The answer had begun, so it is not asked for anywhere else, and it has its price. */
export class CutOff extends A2AError {
  readonly used: Used;

  constructor(name: string, used: Used) {
    super('upstreamFailed', `The model ${name} broke off in the middle of its answer: try again`, {
      reason: 'MODEL_CUT_OFF',
    });
    this.used = used;
  }
}

/** Another provider may do better. The others are about the request, and would be the same everywhere. */
export function failsOver({ code }: ModelError): boolean {
  return code !== 'invalid-request' && code !== 'too-long' && code !== 'refused';
}

/**
 * It says that the provider itself is not well: not a model that it does not have, or that our key may not use (403),
 * nor a limit that it keeps. Otherwise one workspace's card for such a model would close the provider to all others.
 */
export function isIll(error: ModelError): boolean {
  const { code, status } = error;
  return failsOver(error) && code !== 'not-found' && code !== 'rate-limit' && status !== 403;
}
