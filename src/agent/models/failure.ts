/** Converts the HTTP status of a vendor's error to a ModelError. Scripted models also use this module. */
import { ModelError, type ModelErrorCode } from '../model.ts';

const BY_STATUS: Readonly<Record<number, ModelErrorCode>> = {
  400: 'invalid-request',
  401: 'bad-key',
  403: 'bad-key',
  404: 'not-found',
  408: 'timeout',
  413: 'too-long',
  422: 'invalid-request',
  429: 'rate-limit',
  502: 'overloaded',
  503: 'overloaded',
  504: 'timeout',
  529: 'overloaded',
};

export function codeOf(status: number): ModelErrorCode {
  return BY_STATUS[status] ?? 'failed';
}

/** Returns whether the same request may succeed later. */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

export function statusError(
  status: number,
  message: string,
  options: {
    readonly retryAfterMs?: number | undefined;
    readonly vendorCode?: string | undefined;
    readonly cause?: unknown;
  } = {},
): ModelError {
  return new ModelError(codeOf(status), message, {
    status,
    retryable: isRetryable(status),
    ...options,
  });
}
