/**
 * A queue for each file. A change reads a file and writes it afterwards. Two changes of one file in this process must
 * not overlap, because one of them would be lost. Workspaces use real paths as keys, so overlapping workspaces share
 * the queue.
 */
const waiting = new Map<string, Promise<unknown>>();

/** Runs the work after all earlier work with any of these keys. */
export async function inTurn<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
  // The work enters the queues of all keys at once, so a deadlock is impossible.
  const before = Promise.allSettled(keys.map((key) => waiting.get(key) ?? Promise.resolve()));
  const mine = before.then(work);
  const settled = mine.catch(() => {});
  for (const key of keys) waiting.set(key, settled);
  try {
    return await mine;
  } finally {
    for (const key of keys) if (waiting.get(key) === settled) waiting.delete(key);
  }
}
