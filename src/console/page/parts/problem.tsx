/** What the page shows after a problem: the reason, and what to do. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { reasonOf } from '../../../base/index.ts';
import { ConnectionError } from '../../../client/index.ts';
import { cleanLine } from '../../../display/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import { retryMs } from '../server/polling.ts';
import { PageButton } from './controls.tsx';

interface Explained {
  readonly title: string;
  readonly advice?: string;
  /** Whether the problem may pass without any action. */
  readonly passes?: boolean;
  /**
   * Whether the server works as it should, for example if it applies a rate limit. Screen readers do not interrupt the
   * person for such a problem.
   */
  readonly calm?: boolean;
}

const BY_STATUS: Readonly<Record<number, Explained>> = {
  503: {
    title: 'The server or its store is unavailable',
    advice:
      'The database or the disk does not answer, or the server is overloaded or shutting down. Nothing is lost: what was acknowledged is stored. Look at the log of the server.',
    passes: true,
  },
  429: {
    title: 'The rate limit of this key is used up',
    advice: 'Other programs with the same key count too. Wait, or give the page a key of its own.',
    passes: true,
    calm: true,
  },
  403: {
    title: 'This key may not do that',
    advice: 'Use a key with the scope that the server names.',
  },
  404: {
    title: 'Not found',
    advice: 'It may have been removed, or it belongs to another workspace.',
  },
};

function explain(error: unknown): Explained {
  if (error instanceof A2AError) {
    return BY_STATUS[error.httpStatus] ?? { title: 'The server refused the request' };
  }
  // A browser reports a failed connection as a TypeError.
  if (error instanceof ConnectionError || error instanceof TypeError) {
    const advice = 'Check that it is running, and that this device can reach it.';
    return { title: 'The server does not answer', advice, passes: true };
  }
  return { title: 'Something went wrong' };
}

interface ProblemProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

/** Shows a problem as a message of its own. Calls `onRetry` automatically if the problem may pass. */
export function Problem({ error, onRetry }: ProblemProps) {
  const { title, advice, passes = false } = explain(error);
  useEffect(() => {
    if (!passes || !onRetry) return undefined;
    const timer = setTimeout(onRetry, retryMs(error));
    return () => clearTimeout(timer);
  }, [error, passes, onRetry]);
  return (
    <PageMessage title={title} role="alert">
      <p class="said">{cleanLine(reasonOf(error))}</p>
      {advice === undefined ? null : <p>{advice}</p>}
      {onRetry ? (
        <p class="retry">
          <PageButton onClick={onRetry}>Try again</PageButton>
          {passes ? (
            <span class="dim">The page asks again in {retryMs(error) / 1000} seconds.</span>
          ) : null}
        </p>
      ) : null}
    </PageMessage>
  );
}

/** Shows a problem in one line, for a page that still shows data. Does not retry. */
export function ProblemLine({ error }: { readonly error: unknown }) {
  const { title, calm = false } = explain(error);
  return (
    <p class={`problem-line${calm ? ' calm' : ''}`} role={calm ? 'status' : 'alert'}>
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
