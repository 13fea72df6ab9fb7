/**
 * Records which session wrote which file, so that two sessions in one workspace do not overwrite each other's work.
 *
 * A session may change a file if no other session has changed the file since this session last read or wrote it. If
 * this session has neither read nor written the file, only changes since the start of its run count. Changes by people
 * and by shell commands are not recorded. Two other checks detect such changes: the fingerprint of the preview, and the
 * exact text that `edit` requires.
 */
import { BoundedMap } from '../../base/index.ts';
import { fileTurns } from '../files/queue.ts';

/** The session and the run that use a file. */
export interface Actor {
  readonly session: string;
  readonly runId: string;
}

/** Maximum numbers of recorded files and runs. If there are more, the least recently used records are dropped. */
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

  /** Returns the current time for `saw`. Must be called before the file is read. The time is a counter, not a clock. */
  now(): number {
    return ++this.#clock;
  }

  /** Records that the session has seen the content that the file had at the time `at`. */
  saw({ session }: Actor, file: string, at: number): void {
    this.#seen.set(`${session}\0${file}`, at);
  }

  /**
   * Runs `work`, which changes these files. If another session has changed one of the files since this session saw it,
   * throws an error for the model and does not run `work`.
   */
  change<T>(actor: Actor, files: readonly string[], work: () => Promise<T>): Promise<T> {
    return fileTurns.run(
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
      `${file}: another task has changed this file in the meantime, so nothing was written; read the file again and then repeat the change`,
    );
  }
}
