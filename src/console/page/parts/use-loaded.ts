/** Loads data for a component, and loads it again when it may have changed. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { leaveIfRefused } from '../server/sign-in.ts';

export interface LoadedData<T> {
  /** The newest data. It stays while newer data is loaded, and if that fails. */
  readonly value: T | undefined;
  readonly error: unknown;
  readonly loading: boolean;
  readonly reload: () => void;
}

interface Options {
  /** Loads again after this time, while the page is visible. */
  readonly everyMs?: number;
}

/**
 * Calls `load` when the component is mounted, when an input changes, and after `everyMs`. A result that is outdated
 * when it arrives is not shown.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  { everyMs }: Options = {},
): LoadedData<T> {
  const [state, setState] = useState<Omit<LoadedData<T>, 'reload'>>({
    value: undefined,
    error: undefined,
    loading: true,
  });
  const current = useRef<AbortController | undefined>(undefined);
  const loader = useCallback(load, inputs);

  const reload = useCallback(() => {
    current.current?.abort();
    const controller = (current.current = new AbortController());
    const { signal } = controller;
    setState((before) => ({ ...before, loading: true }));
    loader(signal).then(
      (value) => {
        if (!signal.aborted) setState({ value, error: undefined, loading: false });
      },
      (error: unknown) => {
        if (signal.aborted || leaveIfRefused(error)) return;
        setState((before) => ({ ...before, error, loading: false }));
      },
    );
  }, [loader]);

  useEffect(() => {
    setState({ value: undefined, error: undefined, loading: true });
    reload();
    return () => current.current?.abort();
  }, [reload]);

  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const again = () => {
      if (!document.hidden) reload();
    };
    const timer = setInterval(again, everyMs);
    document.addEventListener('visibilitychange', again);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [everyMs, reload]);

  return { ...state, reload };
}
