/** What the fuzzer knows about an entry: a place where text from others comes into the program. */
import type { Random } from './random.ts';

/** One case. It can be printed and run again. */
export interface Input {
  /** What the minimiser makes shorter. */
  readonly text: string;
  /** All else, which stays as it is. */
  readonly head?: unknown;
}

export interface Target extends AsyncDisposable {
  make(random: Random): Input;
  /** Throws if the program does what it must not do. */
  run(input: Input): void | Promise<void>;
}

export interface Entry {
  readonly name: string;
  /** How often the entry gets a case, relative to the others. Cheap entries get more. */
  readonly share: number;
  open(): Promise<Target>;
}

/** The program broke a rule. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly rule: string;

  constructor(rule: string, detail = '') {
    super(detail === '' ? rule : `${rule}: ${detail.slice(0, 2000)}`);
    this.rule = rule;
  }
}

export function check(holds: boolean, rule: string, detail?: string): asserts holds {
  if (!holds) throw new Fault(rule, detail);
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** Runs something that may refuse its input with an error of one of these classes. Any other error is a fault. */
export function refusing<Result>(
  run: () => Result,
  ...classes: readonly ErrorClass[]
): Result | undefined {
  try {
    return run();
  } catch (error) {
    if (classes.some((each) => error instanceof each)) return undefined;
    throw error;
  }
}

export async function refusingAsync<Result>(
  run: () => Promise<Result>,
  ...classes: readonly ErrorClass[]
): Promise<Result | undefined> {
  try {
    return await run();
  } catch (error) {
    if (classes.some((each) => error instanceof each)) return undefined;
    throw error;
  }
}

/** An entry without a server: a function of a text. */
export function pure(
  name: string,
  share: number,
  make: (random: Random) => string | Input,
  run: (text: string, head: unknown) => unknown,
): Entry {
  return {
    name,
    share,
    open: async () => ({
      make(random) {
        const made = make(random);
        return typeof made === 'string' ? { text: made } : made;
      },
      async run({ text, head }) {
        const result = run(text, head);
        if (result instanceof Promise) await result;
      },
      async [Symbol.asyncDispose]() {},
    }),
  };
}
