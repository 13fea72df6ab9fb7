/**
 * Records which session wrote which file, so that two sessions in one workspace do not overwrite each other's work.
 *
 * A session may change a file if no other session has changed it since this one last read or wrote it. If it has done
 * neither, the start of its run counts. Changes by people and by shell commands are not recorded here: the preview's
 * fingerprint and the exact text that `edit` requires protect those.
 */
import { BoundedMap } from '../../base/index.ts';
import { inTurn } from '../files/queue.ts';

/** A session at work. */
export interface Actor {
  readonly session: string;
  readonly runId: string;
}

/** Beyond these sizes the oldest records are dropped. */
const MAX_FILES = 10_000;
const MAX_RUNS = 10_000;

interface Written {
  readonly session: string;
  readonly at: number;
}

export class FileChanges {
  readonly #written = new BoundedMap<Written>(MAX_FILES);
  readonly #seen = new BoundedMap<number>(MAX_FILES);
  readonly #began = new BoundedMap<number>(MAX_RUNS);
  #clock = 0;

  /** Records the start of a run. */
  begin({ runId }: Actor): void {
    if (this.#began.get(runId) === undefined) this.#began.set(runId, this.now());
  }

  /** The time for `saw`, taken before the file is read. It is a counter, not a clock. */
  now(): number {
    return ++this.#clock;
  }

  /** Records that the session knows the file as it was at that time. */
  saw({ session }: Actor, file: string, at: number): void {
    this.#seen.set(`${session}\0${file}`, at);
  }

  /** Changes these files, unless another session changed one of them first. Throws the reason, for the model. */
  change<T>(actor: Actor, files: readonly string[], work: () => Promise<T>): Promise<T> {
    return inTurn(
      files.map((file) => `change ${file}`),
      async () => {
        for (const file of files) this.#check(actor, file);
        const result = await work();
        for (const file of files) {
          const at = this.now();
          this.saw(actor, file, at);
          this.#written.set(file, { session: actor.session, at });
        }
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
