/** Translates the register's statements for PostgreSQL: numbered parameters, and tables in the schema `parley`. */
import { createHash } from 'node:crypto';
import { fromPostgresRow, toPostgresText } from '../../base/postgres/index.ts';
import { TABLE_NAMES } from './postgres-tables.ts';
import type { RegisterQuery, Row, StatementText } from './register.ts';

interface Translated {
  readonly text: string;
  /** The names of the parameters, in order. Empty if the parameters have no names. */
  readonly names: readonly string[];
  /**
   * The name of the prepared statement. It depends on the text, because behind a pooler different versions of Parley
   * may use the same connection. A statement gets its name when it is used again. So a statement that is made for one
   * query, such as a search, has no name.
   */
  name?: string;
}

const PARAMETER = /\?(\d+)?|\$([a-z]\w*)/gi;
const TABLE = new RegExp(`\\b(FROM|JOIN|INTO|UPDATE)(\\s+)(${TABLE_NAMES.join('|')})\\b`, 'g');

const translations = new WeakMap<StatementText, Translated>();

function translated(statement: StatementText): Translated {
  const known = translations.get(statement);
  if (known) {
    known.name ??= `parley.${createHash('sha256').update(known.text).digest('hex').slice(0, 24)}`;
    return known;
  }
  const names: string[] = [];
  let count = 0;
  const numbered = (statement.postgres ?? statement.sql).replace(
    PARAMETER,
    (_, number: string | undefined, name: string | undefined) => {
      if (name === undefined) return `$${number ?? ++count}`;
      if (!names.includes(name)) names.push(name);
      return `$${names.indexOf(name) + 1}`;
    },
  );
  const made = { text: numbered.replace(TABLE, '$1$2parley.$3'), names };
  translations.set(statement, made);
  return made;
}

/** Returns the text and the values of a query. */
export function postgresQuery({ statement, named, values, wants }: RegisterQuery) {
  const { text, names, name } = translated(statement);
  const given = named ? names.map((name) => named[name] ?? null) : values;
  return {
    text: wants === 'changes' ? counted(text) : text,
    name: name !== undefined && wants === 'changes' ? `${name}.count` : name,
    values: given.map((value) => (typeof value === 'string' ? toPostgresText(value) : value)),
  };
}

/** Returns the statement whose result is the number of changed rows. */
function counted(text: string): string {
  return `WITH changed AS (${text} RETURNING 1) SELECT count(*) AS count FROM changed`;
}

/** Returns the result that the query wants. */
export function postgresResult({ statement, wants }: RegisterQuery, rows: readonly Row[]): unknown {
  if (wants === 'changes') return rows[0]?.['count'];
  const shown = (row: Row): unknown =>
    statement.arrays ? Object.values(fromPostgresRow(row)) : fromPostgresRow(row);
  return wants === 'all' ? rows.map(shown) : rows[0] && shown(rows[0]);
}

/**
 * Returns rows as JSON, for `json_to_recordset`. Here, `toPostgresText` escapes each text in the rows. `postgresQuery`
 * later escapes the whole JSON with `toPostgresText`. The character U+FFFF, which begins these escapes, is written as
 * `\uffff`, so that it is not escaped a second time.
 */
export function jsonRows(rows: readonly Readonly<Record<string, string | number>>[]): string {
  const text = JSON.stringify(rows, (_, value: unknown) =>
    typeof value === 'string' ? toPostgresText(value) : value,
  );
  return text.replaceAll('\uffff', String.raw`\uffff`);
}
