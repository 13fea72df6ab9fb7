// What uses a register in SQLite returns its results at once, so that tests of SQLite need not wait.
import type { MaybePromise } from '../../src/base/index.ts';

export type AtOnce<Api> = {
  [Name in keyof Api]: Api[Name] extends (...given: infer Given) => MaybePromise<infer Result>
    ? (...given: Given) => Result
    : Api[Name];
};

/** The same object. Its methods return no promises, because its register is in SQLite. */
export function atOnce<Api extends object>(api: Api): AtOnce<Api> {
  return api as AtOnce<Api>;
}
