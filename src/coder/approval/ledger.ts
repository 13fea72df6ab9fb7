/**
 * Who has written what, so that two sessions in one workspace do not write over each other.
 *
 * A session may change a file as long as no other session has changed it since this one last read or wrote it, or,
 * where it has done neither, since its run began. What people and commands change is not in the ledger: for that there
 * are the preview's fingerprint and the exact text that `edit` wants.
 */
import { inTurn } from '../files/queue.ts';

/** A session at work. */
export interface Actor {
  readonly session: string;
  readonly runId: string;
}

/** More files than this are forgotten, the oldest first. */
const MAX_FILES = 10_000;
const MAX_RUNS = 10_000;

interface Written {
  readonly session: string;
  readonly at: number;
}

export class Ledger {
  readonly #written = new Map<string, Written>();
  readonly #seen = new Map<string, number>();
  readonly #began = new Map<string, number>();
  #clock = 0;

  /** The run is under way from now on. */
  begin({ runId }: Actor): void {
    if (this.#began.has(runId)) return;
    this.#began.set(runId, this.now());
    forget(this.#began, MAX_RUNS);
  }

  /** For `saw`: what is read from now on has all that was written before. */
  now(): number {
    return ++this.#clock;
  }

  /** The session knows the file as it was then. */
  saw({ session }: Actor, file: string, at: number): void {
    this.#seen.set(`${session}\0${file}`, at);
    forget(this.#seen, MAX_FILES);
  }

  /** Makes a change of these files, unless another session was there first. Throws the reason, for the model. */
  change<T>(actor: Actor, files: readonly string[], work: () => Promise<T>): Promise<T> {
    return inTurn(
      files.map((file) => `ledger ${file}`),
      async () => {
        for (const file of files) this.#check(actor, file);
        const result = await work();
        for (const file of files) {
          const at = this.now();
          this.saw(actor, file, at);
          this.#written.delete(file);
          this.#written.set(file, { session: actor.session, at });
        }
        forget(this.#written, MAX_FILES);
        return result;
      },
    );
  }

  #check({ session, runId }: Actor, file: string): void {
    const written = this.#written.get(file);
    if (!written || written.session === session) return;
    const known = this.#seen.get(`${session}\0${file}`) ?? this.#began.get(runId) ?? 0;
    if (written.at < known) return;
    throw new Error(
      `${file}: another task has changed this file in the meantime, so nothing was written; read it again and propose the change anew`,
    );
  }
}

function forget(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
