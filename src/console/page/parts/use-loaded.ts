/** Loads data for a component, and loads it again when it may have changed. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { pause } from '../../../base/index.ts';
import { retryMs, whileHidden } from '../server/polling.ts';
import { leaveIfRefused } from '../server/sign-in.ts';

export interface LoadedData<T> {
  /** The data for the current inputs. While newer data is loaded, and if its load fails, this is the older data. */
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
