/**
 * Locks for runs. In this process, each run can be open for only one caller at a time. Across processes, the session
 * store prevents a run from being resumed twice at the same point (see `proceed` in runner.ts).
 */
import { raceAbort } from '../../base/index.ts';
import { RunError } from '../errors.ts';
import type { SessionKey, SessionStore } from '../session.ts';
import { keyText } from '../sessions/prepare.ts';

interface Claim {
  readonly answering: readonly string[];
  readonly released: Promise<void>;
}

const claims = new WeakMap<SessionStore, Map<string, Claim>>();

/**
 * Waits for the lock of a run and takes it. Throws at once if another caller is answering one of the same questions.
 */
export async function claimRun(
  store: SessionStore,
  key: SessionKey,
  runId: string,
  answering: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Disposable> {
  let held = claims.get(store);
  if (!held) claims.set(store, (held = new Map()));
  const id = keyText(key, runId);
  for (let other = held.get(id); other !== undefined; other = held.get(id)) {
    const taken = answering.find((question) => other?.answering.includes(question));
    if (taken !== undefined) {
      throw new RunError('not-open', `another caller is already answering the question ${taken}`);
    }
    await (signal ? raceAbort(other.released, signal) : other.released);
  }
  const { promise: released, resolve } = Promise.withResolvers<void>();
  held.set(id, { answering, released });
  return {
    [Symbol.dispose]() {
      held.delete(id);
      resolve();
    },
  };
}
