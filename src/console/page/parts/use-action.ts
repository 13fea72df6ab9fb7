/** The state of a person's action on a page: whether it is in progress, and the problem if it failed. */
import { useSignal } from '@preact/signals';
import { leaveIfRefused } from '../server/sign-in.ts';

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
