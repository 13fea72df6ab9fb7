/**
 * The gateway's register: keys, model cards, agents, spending and the audit log. The register is an SQLite file
 * (sqlite-register.ts), or a part of the PostgreSQL database that also has the tasks (postgres-register.ts).
 *
 * SQLite is synchronous, and PostgreSQL is asynchronous. Code that uses the register is written once, as generators.
 * Each `yield*` runs one statement. With SQLite, `read`, `transaction` and `change` return the result itself. With
 * PostgreSQL, they return a promise.
 *
 *   const find = statement('SELECT name FROM agents WHERE workspace = $workspace');
 *   const names = await register.read(function* () {
 *     const rows = yield* find.all({ workspace });
 *     return rows.map(({ name }) => String(name));
 *   });
 *
 * A statement either has one text that is valid in both databases, or one text for each database. Parameters are `?`,
 * `?1` or `$name`.
 *
 * Other processes may write to the register while the gateway runs. So code that caches contents of the register must
 * check `changed`.
 */
import type { MaybePromise } from '../../base/index.ts';

export type SqlValue = string | number | null | Uint8Array;
/** A row of a table, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;
export type NamedValues = Readonly<Record<string, SqlValue>>;
/** The values of `?`, or one object with the values of `$name`. */
type Values = readonly SqlValue[] | readonly [NamedValues];

/**
 * One statement with its values. `wants` is the wanted result: the first row, all rows, or the number of changed rows.
 */
export interface RegisterQuery {
  readonly statement: StatementText;
  readonly named: NamedValues | undefined;
  readonly values: readonly SqlValue[];
  readonly wants: 'one' | 'all' | 'changes';
}

/** The text of a statement. Prepared statements are cached by this object, not by its text. */
export interface StatementText {
  readonly sql: string;
  /** The text for PostgreSQL, if it differs. */
  readonly postgres?: string | undefined;
  /** Whether a row is an array of its columns. Arrays are created twice as fast as objects. */
  readonly arrays: boolean;
}

/** Work that runs statements with `yield*`. */
export type Steps<Result> = Generator<RegisterQuery, Result, unknown>;

/** A statement that can be run many times. */
export interface RegisterStatement<Found = Row> {
  /** Returns the first row, or undefined if there is none. */
  get(...values: Values): Steps<Found | undefined>;
  all(...values: Values): Steps<readonly Found[]>;
  /** Returns the number of rows that were changed. */
  run(...values: Values): Steps<number>;
}

/** Declares a statement. `postgres` is its text for PostgreSQL, if it differs. */
export function statement(sql: string, postgres?: string): RegisterStatement {
  return statementOf({ sql, postgres, arrays: false });
}

/** Declares a statement whose rows are arrays. */
export function arrayStatement<Found extends readonly unknown[]>(
  sql: string,
  postgres?: string,
): RegisterStatement<Found> {
  return statementOf({ sql, postgres, arrays: true });
}

function statementOf<Found>(text: StatementText): RegisterStatement<Found> {
  // The type checker cannot infer the type of a row from the SQL.
  return {
    *get(...values) {
      return (yield queryOf(text, values, 'one')) as Found | undefined;
    },
    *all(...values) {
      return (yield queryOf(text, values, 'all')) as readonly Found[];
    },
    *run(...values) {
      return (yield queryOf(text, values, 'changes')) as number;
    },
  };
}

function queryOf(
  text: StatementText,
  values: Values,
  wants: RegisterQuery['wants'],
): RegisterQuery {
  return isNamed(values)
    ? { statement: text, named: values[0], values: [], wants }
    : { statement: text, named: undefined, values, wants };
}

function isNamed(values: Values): values is readonly [NamedValues] {
  const [first] = values;
  return typeof first === 'object' && first !== null && !(first instanceof Uint8Array);
}

export interface Register {
  readonly kind: 'sqlite' | 'postgres';
  /** A random value, for secrets that are derived from PARLEY_SECRET_KEY. */
  readonly salt: Uint8Array;
  /**
   * Runs `work` in a transaction. Transactions cannot be nested. If the database fails, logs its error and throws
   * `unavailable`.
   */
  transaction<Result>(work: () => Steps<Result>): MaybePromise<Result>;
  /**
   * Runs `work` in a transaction that changes keys, model cards or agents. No other change runs at the same time, in
   * any process. After the change, `changed` returns another number. In this process, it does so immediately.
   */
  change<Result>(work: () => Steps<Result>): MaybePromise<Result>;
  /** Runs reads, or one write, without a transaction. Errors of the database are handled as in `transaction`. */
  read<Result>(work: () => Steps<Result>): MaybePromise<Result>;
  /**
   * Returns a number that changes after each `change`, also after a `change` by another process. With PostgreSQL,
   * throws `unavailable` if the database could not be read for some time, because this process may have missed changes.
   */
  changed(): number;
  /**
   * Calls `listener` after changes of other processes, as soon as this process knows about them. With SQLite,
   * `listener` is never called, because SQLite is fast enough to check `changed` before each use.
   */
  onChange(listener: () => void): void;
  /**
   * Sends a short text to the other gateways with this register. The text may be lost. With SQLite, nothing is sent,
   * because only one gateway uses the file.
   */
  tell(text: string): void;
  /** Calls `listener` with each text that another gateway sends with `tell`. */
  onTold(listener: (text: string) => void): void;
  /** Throws or rejects if the register cannot be written. */
  check(): MaybePromise<void>;
  close(): MaybePromise<void>;
}
