/**
 * Whoever changes a file reads it first and writes it afterwards; in between nobody else of this process may change
 * it, or one of the two changes is lost. Keys are true paths, so workspaces that overlap share the queue.
 */
const waiting = new Map<string, Promise<unknown>>();

/** Does the work when all that was asked for earlier with any of these keys is done. */
export async function inTurn<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
  // All keys are taken at once, so two callers can never wait for each other.
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
