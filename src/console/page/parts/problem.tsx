/** What the page shows instead of data: why there is none, and what to do. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { reasonOf } from '../../../base/index.ts';
import { ConnectionError } from '../../../client/index.ts';
import { cleanLine } from '../../../display/index.ts';
import { A2AError } from '../../../protocol/index.ts';

/** How long the page waits before it asks again after a problem that may pass. */
const RETRY_MS = 5000;

interface Explained {
  readonly title: string;
  readonly advice: string;
  /** Whether the problem may pass without any action. */
  readonly passes: boolean;
}

function explain(error: unknown): Explained {
  if (error instanceof A2AError) {
    switch (error.httpStatus) {
      case 503:
        return {
          title: 'The server cannot read its store',
          advice:
            'The server runs, but its database or its disk does not answer. Nothing is lost: what was acknowledged is stored. Look at the log of the server.',
          passes: true,
        };
      case 429:
        return {
          title: 'Too many requests',
          advice: 'This key has used up its rate limit. Wait, or use another key.',
          passes: true,
        };
      case 403:
        return {
          title: 'This key may not do that',
          advice: 'Use a key with the scope that the server names.',
          passes: false,
        };
      case 404:
        return {
          title: 'Not found',
          advice: 'It may have been removed, or it belongs to another workspace.',
          passes: false,
        };
      default:
        return { title: 'The server refused the request', advice: '', passes: false };
    }
  }
  // A browser reports a failed connection as a TypeError.
  if (error instanceof ConnectionError || error instanceof TypeError) {
    return {
      title: 'The server does not answer',
      advice: 'Check that it is running, and that this device can reach it.',
      passes: true,
    };
  }
  return { title: 'Something went wrong', advice: '', passes: false };
}

interface ProblemProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

/** Shows a problem in place of the data. Asks again by itself if the problem may pass. */
export function Problem({ error, onRetry }: ProblemProps) {
  const { title, advice, passes } = explain(error);
  useEffect(() => {
    if (!passes || !onRetry) return undefined;
    const timer = setTimeout(onRetry, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error, passes, onRetry]);
  return (
    <PageMessage title={title} role="alert">
      <p class="said">{cleanLine(reasonOf(error))}</p>
      {advice === '' ? null : <p>{advice}</p>}
      {onRetry ? (
        <p>
          <button type="button" onClick={onRetry}>
            Try again
          </button>
          {passes ? (
            <span class="dim"> The page asks again every {RETRY_MS / 1000} seconds.</span>
          ) : null}
        </p>
      ) : null}
    </PageMessage>
  );
}

/** Shows a problem beside data that is still on the page. */
export function ProblemLine({ error }: { readonly error: unknown }) {
  const { title } = explain(error);
  return (
    <p class="problem-line" role="alert">
      <strong>{title}.</strong> {cleanLine(reasonOf(error))}
    </p>
  );
}

interface MessageProps {
  readonly title: string;
  readonly role?: 'alert';
  readonly children: ComponentChildren;
}

/** A message in the middle of the page. */
export function PageMessage({ title, role, children }: MessageProps) {
  return (
    <section class="message" role={role}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
