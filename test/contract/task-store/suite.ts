/** How the contract's cases are collected, without any test runner. */
import type { TaskStore } from 'parley-a2a/server';

/** A store for one case. */
export interface OpenedStore {
  readonly store: TaskStore;
  /** Closes the store and opens it again, as a restart of the process would. Durable stores only. */
  readonly reopen?: () => Promise<TaskStore>;
  /** Closes the store and removes its data. Called after the case, also when the case fails. */
  readonly dispose: () => Promise<void>;
}

/** One requirement. `run` rejects with an AssertionError if the store does not meet it. */
export interface ContractCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}

type Test = (name: string, check: (opened: OpenedStore) => Promise<void>) => void;

/** Adds the cases of one subject. */
export type Describe = (subject: string, define: (test: Test) => void) => void;

/** Runs `define` and returns the cases that it has added. */
export function collect(
  open: () => Promise<OpenedStore>,
  define: (describe: Describe) => void,
): ContractCase[] {
  const cases: ContractCase[] = [];
  define((subject, defineCases) => {
    defineCases((name, check) => {
      cases.push({
        name: `${subject}: ${name}`,
        async run() {
          const opened = await open();
          try {
            await check(opened);
          } finally {
            await opened.dispose();
          }
        },
      });
    });
  });
  return cases;
}
