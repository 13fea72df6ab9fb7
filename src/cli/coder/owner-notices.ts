/** The channel from the agent to the person who runs it, in the same process. */
import type { OwnerNotice, OwnerNotices } from '../../live/client/index.ts';

/** Maximum number of notices that are kept while there is no listener. Further notices are dropped. */
const MAX_WAITING = 100;

export function createOwnerNotices() {
  const listeners = new Set<(notice: OwnerNotice) => void>();
  const waiting: OwnerNotice[] = [];
  return {
    notify: (notice: OwnerNotice): void => {
      for (const listener of listeners) listener(notice);
      if (listeners.size === 0 && waiting.length < MAX_WAITING) waiting.push(notice);
    },
    notices: (listener: Parameters<OwnerNotices>[0]) => {
      listeners.add(listener);
      for (const notice of waiting.splice(0)) listener(notice);
      return () => void listeners.delete(listener);
    },
  };
}
