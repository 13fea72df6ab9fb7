/**
 * Limits how often the page polls the server, that is, sends requests without a user action. A key may have a rate
 * limit, and several pages may be open. So a visible page polls at most about ten times a minute while nothing changes.
 * A hidden page polls only to retry after an error that it shows with `Problem`.
 */
import { A2AError } from '../../../protocol/index.ts';

/** Minimum wait after a temporary problem. */
const RETRY_MS = 5000;
/** Maximum wait, even if the server asks for a longer wait. So the page continues soon after the server recovers. */
const MAX_RETRY_MS = 60_000;

/**
 * Returns the time to wait after this problem, in milliseconds: the time that the server asks for, but at least
 * RETRY_MS and at most MAX_RETRY_MS.
 */
export function retryMs(error: unknown): number {
  const { retryAfterSeconds = 0 } = error instanceof A2AError ? error.detail : {};
  return Math.min(Math.max(RETRY_MS, retryAfterSeconds * 1000), MAX_RETRY_MS);
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
