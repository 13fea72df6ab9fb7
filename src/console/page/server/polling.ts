/**
 * When the page asks the server again without a person. A key may have a rate limit, and several pages may be open, so an
 * open page asks at most about ten times a minute while nothing changes, and not at all while it is hidden.
 */
import { A2AError } from '../../../protocol/index.ts';

/** How long the page waits after a problem that may pass, if the server does not say how long. */
const RETRY_MS = 5000;
/** An operator who repairs the server does not want to wait longer. */
const MAX_RETRY_MS = 60_000;

/** Returns how long to wait after this problem: as long as the server asks for. */
export function retryMs(error: unknown): number {
  const seconds = error instanceof A2AError ? error.detail.retryAfterSeconds : undefined;
  return seconds === undefined
    ? RETRY_MS
    : Math.min(Math.max(RETRY_MS, seconds * 1000), MAX_RETRY_MS);
}

/** Resolves when the page is visible, or when the signal is aborted. */
export async function whileHidden(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => {
    if (!document.hidden || signal.aborted) resolve();
  };
  document.addEventListener('visibilitychange', done);
  signal.addEventListener('abort', done, { once: true });
  await promise;
  document.removeEventListener('visibilitychange', done);
}
