/**
 * Finds a page of cards with the full-text index of SQLite. The index has the terms of each card (terms.ts). A search
 * word is converted to the phrase of its trigrams, so that it matches anywhere in the text.
 *
 * A small result is sorted. For a large result, the index of the sort column is scanned until the page is full. The
 * scan skips rows that do not match.
 */
import { MAX_PAGE } from '../api/fields.ts';
import {
  arrayStatement,
  type NamedValues,
  type RegisterStatement,
  statement,
  type Steps,
} from '../register/register.ts';
import type { CardQuery, Sort } from './schema.ts';
import { type CardSearch, sortOf } from './search.ts';
import { CARD_COLUMNS, CARD_TABLES, type CardRow, type WorkspaceRow } from './statements.ts';
import { phrasesOf, termsOf } from './terms.ts';

/** Maximum number of rows that are sorted. Above this number, scanning the sort index is cheaper than sorting. */
const FEW = 10 * MAX_PAGE;

const INDEX_OF: Readonly<Record<Sort, { index: string; column: string }>> = {
  name: { index: 'cards_name', column: 'c.name COLLATE NOCASE' },
  slug: { index: 'cards_slug', column: 'c.slug' },
  createdAt: { index: 'cards_created', column: 'c.created' },
  updatedAt: { index: 'cards_updated', column: 'c.updated' },
};

const addTerms = statement('INSERT INTO card_search (rowid, letters, marks) VALUES (?, ?, ?)');
const dropTerms = statement('DELETE FROM card_search WHERE rowid = ?');

/** Returns the query for the full-text index. It is empty if every card matches. */
function expression(number: number, deleted: boolean, query: CardQuery): string {
  return phrasesOf(number, deleted, query)
    .map((terms) => `"${terms.join(' ')}"`)
    .join(' AND ');
}

export function fullTextSearch(): CardSearch {
  // The number of statements is limited, because there are few combinations of filters and sort orders.
  const statements = new Map<string, RegisterStatement<readonly unknown[]>>();
  function* rowsOf<Row extends readonly unknown[]>(
    sql: string,
    values: NamedValues,
  ): Steps<readonly Row[]> {
    let found = statements.get(sql);
    if (found === undefined) statements.set(sql, (found = arrayStatement(sql)));
    // The type checker cannot infer the type of a row from the SQL.
    return (yield* found.all(values)) as readonly Row[];
  }

  function* find([number, live, deleted]: WorkspaceRow, query: CardQuery) {
    const all = query.include_deleted === 'true';
    const filter = filterOf(number, query, all);
    let total = all ? live + deleted : live;
    let few: string | undefined;
    if (filter !== undefined) {
      const { sql, values } = filter;
      const rows = yield* rowsOf<[number]>(`SELECT * FROM (${sql}) LIMIT ${FEW + 1}`, values);
      total = rows.length;
      if (total <= FEW) few = JSON.stringify(rows.flat());
      else {
        const [count] = yield* rowsOf<[number]>(`SELECT count(*) FROM (${sql})`, values);
        total = count?.[0] ?? 0;
      }
    }
    const { limit, offset } = query;
    if (offset >= total) return { total, rows: [] };

    const { sort, order } = sortOf(query);
    const { index, column } = INDEX_OF[sort];
    const ordered = `ORDER BY ${column} ${order}, c.row ${order}`;
    const from =
      few === undefined
        ? `cards c INDEXED BY ${index} WHERE c.workspace = :workspace
            ${all ? '' : 'AND c.deleted IS NULL'} ${filter ? `AND +c.row IN (${filter.sql})` : ''}`
        : `cards c NOT INDEXED WHERE c.row IN (SELECT value FROM json_each(:few))`;
    const rows = yield* rowsOf<CardRow>(
      `SELECT ${CARD_COLUMNS} FROM ${CARD_TABLES} WHERE c.row IN
        (SELECT c.row FROM ${from} ${ordered} LIMIT :limit OFFSET :offset) ${ordered}`,
      {
        limit,
        offset,
        ...(few === undefined ? { ...filter?.values, workspace: number } : { few }),
      },
    );
    return { total, rows };
  }

  return {
    *replace(number, row, card, deleted) {
      const { letters, marks } = termsOf(number, card, deleted);
      yield* dropTerms.run(row);
      yield* addTerms.run(row, letters, marks);
    },
    *remove(row) {
      yield* dropTerms.run(row);
    },
    find,
  };
}

/** Returns the query for the row numbers of the cards that match, or undefined if every card matches. */
function filterOf(
  number: number,
  query: CardQuery,
  all: boolean,
): { readonly sql: string; readonly values: NamedValues } | undefined {
  const { slug } = query;
  const live = expression(number, false, query);
  const match = all && live !== '' ? `(${live}) OR (${expression(number, true, query)})` : live;
  const found = 'SELECT rowid FROM card_search WHERE card_search MATCH :match';
  if (slug === undefined) return match === '' ? undefined : { sql: found, values: { match } };
  return {
    sql: `SELECT row FROM cards WHERE workspace = :workspace AND slug = :slug
      ${all ? '' : 'AND deleted IS NULL'} ${match === '' ? '' : `AND +row IN (${found})`}`,
    values: { workspace: number, slug, ...(match !== '' && { match }) },
  };
}
