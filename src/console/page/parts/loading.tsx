/** Loads data, runs the actions of a person, and shows problems with their reasons and with advice. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useCallback, useRef, useState } from 'preact/hooks';
import { reasonOf, pause } from '../../../base/index.ts';
import { ConnectionError } from '../../../client/index.ts';
import { PageButton } from './controls.tsx';
import { retryMs, whileHidden } from '../server/polling.ts';
import { leaveIfRefused } from '../server/sign-in.ts';
import { cleanLine } from '../../../display/index.ts';
import { A2AError } from '../../../protocol/index.ts';

interface Explained {
  readonly title: string;
  readonly advice?: string;
  /** Whether the problem may pass without any action. */
  readonly passes?: boolean;
  /**
   * Whether a server that works correctly causes the problem, for example with a rate limit. Screen readers do not
   * interrupt the person for such a problem.
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
    advice:
      'Requests of other programs with this key use up the same limit. Wait, or give the page its own key.',
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

/** Shows a problem as a separate message. If the problem may pass, calls `onRetry` automatically. */
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

/** The state of a person's action on a page: whether it is in progress, and the problem if it failed. */
export interface PageAction {
  readonly busy: boolean;
  readonly problem: unknown;
  /**
   * Starts the work, unless other work is in progress. If the work fails, sets `problem`. If it fails because the
   * server refused the current key, asks for another key instead.
   */
  readonly run: (work: () => Promise<unknown>) => void;
  /** Forgets the problem. */
  readonly clear: () => void;
}

export function useAction(): PageAction {
  const busy = useSignal(false);
  const problem = useSignal<unknown>(undefined);
  const clear = () => (problem.value = undefined);
  return {
    busy: busy.value,
    problem: problem.value,
    clear,
    run(work) {
      if (busy.value) return;
      busy.value = true;
      clear();
      work()
        .catch((error: unknown) => leaveIfRefused(error) || (problem.value = error))
        .finally(() => (busy.value = false));
    },
  };
}

export interface LoadedData<T> {
  /** The data for the current inputs. It stays while newer data is being loaded, and if that load fails. */
  readonly value: T | undefined;
  readonly error: unknown;
  readonly loading: boolean;
  /** Whether there is newer data, which is not loaded because of `holds`. */
  readonly outdated: boolean;
  readonly reload: () => void;
}

interface Options {
  /** Loads the data again after this time in milliseconds, while the page is visible. */
  readonly everyMs?: number;
  /**
   * A short request whose result changes with the data. If `mark` is given, it is called every `everyMs`. The data is
   * loaded again only if the result of `mark` has changed, or after a problem.
   */
  readonly mark?: (signal: AbortSignal) => Promise<string>;
  /** If true, newer data is not loaded automatically, but `outdated` becomes true. */
  readonly holds?: boolean;
}

/**
 * Calls `load` when the component is mounted, when an input changes, and after `everyMs`. The result of a load is
 * ignored if a newer load has started meanwhile. After a problem, the next automatic load waits at least as long as
 * `retryMs` returns.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  options: Options = {},
): LoadedData<T> {
  const [state, setState] = useState<Omit<LoadedData<T>, 'reload'>>(EMPTY);
  const current = useRef<AbortController | undefined>(undefined);
  const known = useRef('');
  const loader = useCallback(load, inputs);
  const latest = useRef(options);
  latest.current = options;

  const reload = useCallback(() => {
    current.current?.abort();
    const controller = (current.current = new AbortController());
    const { signal } = controller;
    const { mark } = latest.current;
    setState((before) => ({ ...before, loading: true }));
    const work = async () => {
      // The mark is read before the data, so that the next check finds a change between the two requests.
      if (mark) known.current = await mark(signal);
      return loader(signal);
    };
    work().then(
      (value) => {
        if (!signal.aborted) setState({ ...EMPTY, value, loading: false });
      },
      (error: unknown) => {
        if (signal.aborted || leaveIfRefused(error)) return;
        setState((before) => ({ ...before, error, loading: false }));
      },
    );
  }, [loader]);

  useEffect(() => {
    setState(EMPTY);
    reload();
    return () => current.current?.abort();
  }, [reload]);

  const { everyMs } = options;
  const { loading, error } = state;
  useEffect(() => {
    if (everyMs === undefined || loading) return undefined;
    const stop = new AbortController();
    const { signal } = stop;
    const look = async () => {
      for (;;) {
        await pause(Math.max(everyMs, error === undefined ? 0 : retryMs(error)), signal);
        await whileHidden(signal);
        if (signal.aborted) return;
        const { mark, holds = false } = latest.current;
        const isSame = error === undefined && mark && (await mark(signal)) === known.current;
        if (signal.aborted) return;
        if (isSame) continue;
        if (!holds) {
          reload();
          return;
        }
        setState((before) => (before.outdated ? before : { ...before, outdated: true }));
      }
    };
    look().catch((problem: unknown) => {
      if (signal.aborted || leaveIfRefused(problem)) return;
      setState((before) => ({ ...before, error: problem }));
    });
    return () => stop.abort();
  }, [everyMs, loading, error, reload]);

  return { ...state, reload };
}

const EMPTY = { value: undefined, error: undefined, loading: true, outdated: false };
