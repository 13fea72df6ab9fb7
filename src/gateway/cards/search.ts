/**
 * Finds a page of cards, with filters, search, sorting and exact totals.
 *
 * The full-text index of SQLite has a set of terms for each card. Every term contains the workspace's number and a flag
 * for deleted cards. Terms consist only of ASCII letters and digits, so that a caller's text is never read as query
 * syntax. A search word is converted to the phrase of its trigrams (`tur urb rbo` for `turbo`), so that it matches
 * anywhere in the text. Words of one or two letters have their own terms.
 *
 * A small result is sorted. For a large result, the index of the sort column is scanned until the page is full, and
 * rows that do not match are skipped.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { MAX_PAGE } from '../api/page.ts';
import type { CardQuery, ModelCard, Sort } from './schema.ts';
import { CARD_COLUMNS, CARD_TABLES, type CardRow, type WorkspaceRow } from './statements.ts';

/** Maximum number of rows that are sorted. Above this number, scanning the sort index is cheaper than sorting. */
const FEW = 10 * MAX_PAGE;
const TRIGRAM = 3;
/** Maximum number of words in a search. Further words are ignored. */
const MAX_WORDS = 16;

const INDEX_OF: Readonly<Record<Sort, { index: string; column: string }>> = {
  name: { index: 'cards_name', column: 'c.name COLLATE NOCASE' },
  slug: { index: 'cards_slug', column: 'c.slug' },
  createdAt: { index: 'cards_created', column: 'c.created' },
  updatedAt: { index: 'cards_updated', column: 'c.updated' },
};

/** The kind of a term: a piece of text, a provider or a capability. */
type Kind = 't' | 'p' | 'c';

/**
 * Returns a term. The full-text index changes terms to lower case and splits them at special characters, so the value
 * is encoded in hexadecimal.
 */
function term(number: number, deleted: boolean, kind: Kind, points: readonly number[]): string {
  const value = points.map((point) => point.toString(16)).join('x');
  return `${number}${deleted ? 'd' : 'l'}${kind}${value}`;
}

function pointsOf(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function pieces(points: readonly number[], size: number): number[][] {
  const count = Math.max(0, points.length - size + 1);
  return Array.from({ length: count }, (_, at) => points.slice(at, at + size));
}

type Findable = Pick<ModelCard, 'name' | 'slug' | 'description' | 'card'>;

/** Returns the terms of a card for the full-text index. */
export function termsOf(number: number, findable: Findable, deleted: boolean) {
  const { name, slug, description, card } = findable;
  // Search words contain no white space, so a word cannot match across two fields.
  const text = pointsOf(`${name}\n${slug}\n${description}`.toLowerCase());
  const letters = pieces(text, TRIGRAM).map((piece) => term(number, deleted, 't', piece));
  const short = [...pieces(text, 1), ...pieces(text, 2)];
  const marks = new Set(short.map((piece) => term(number, deleted, 't', piece)));
  for (const { provider } of [card, ...(card.routes ?? [])]) {
    if (provider !== undefined) marks.add(term(number, deleted, 'p', pointsOf(provider)));
  }
  for (const { type, enabled } of card.capabilities) {
    if (enabled) marks.add(term(number, deleted, 'c', pointsOf(type)));
  }
  return { letters: letters.join(' '), marks: [...marks].join(' ') };
}

/** Returns the query for the full-text index. It is empty if every card matches. */
function expression(number: number, deleted: boolean, query: CardQuery): string {
  const { q = '', provider, capability } = query;
  const words = q.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS);
  const phrases = words.map((word) => {
    const points = pointsOf(word);
    const size = Math.min(TRIGRAM, points.length);
    return pieces(points, size).map((piece) => term(number, deleted, 't', piece));
  });
  if (provider !== undefined) phrases.push([term(number, deleted, 'p', pointsOf(provider))]);
  if (capability !== undefined) phrases.push([term(number, deleted, 'c', pointsOf(capability))]);
  return phrases.map((terms) => `"${terms.join(' ')}"`).join(' AND ');
}

/** Returns a function that finds the rows of a page, and the total number of rows. */
export function createSearch(db: DatabaseSync) {
  // The number of statements is limited, because there are few combinations of filters and sort orders.
  const statements = new Map<string, StatementSync>();
  function rowsOf<Row extends unknown[]>(sql: string, values: Record<string, SQLInputValue>) {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      statement.setReturnArrays(true);
      statements.set(sql, statement);
    }
    // The type checker cannot infer the type of a row from the SQL.
    return statement.all(values) as unknown as Row[];
  }

  return function search([number, live, deleted]: WorkspaceRow, query: CardQuery) {
    const all = query.include_deleted === 'true';
    const filter = filterOf(number, query, all);
    let total = all ? live + deleted : live;
    let few: string | undefined;
    if (filter !== undefined) {
      const { sql, values } = filter;
      const rows = rowsOf<[number]>(`SELECT * FROM (${sql}) LIMIT ${FEW + 1}`, values);
      total = rows.length;
      if (total <= FEW) few = JSON.stringify(rows.flat());
      else [[total]] = rowsOf<[number]>(`SELECT count(*) FROM (${sql})`, values) as [[number]];
    }
    const { limit, offset } = query;
    if (offset >= total) return { total, rows: [] };

    const descending = query.sort.startsWith('-');
    const sort = (descending ? query.sort.slice(1) : query.sort) as Sort;
    const order = descending ? 'DESC' : 'ASC';
    const { index, column } = INDEX_OF[sort];
    const ordered = `ORDER BY ${column} ${order}, c.row ${order}`;
    const from =
      few === undefined
        ? `cards c INDEXED BY ${index} WHERE c.workspace = :workspace
            ${all ? '' : 'AND c.deleted IS NULL'} ${filter ? `AND +c.row IN (${filter.sql})` : ''}`
        : `cards c NOT INDEXED WHERE c.row IN (SELECT value FROM json_each(:few))`;
    const rows = rowsOf<CardRow>(
      `SELECT ${CARD_COLUMNS} FROM ${CARD_TABLES} WHERE c.row IN
        (SELECT c.row FROM ${from} ${ordered} LIMIT :limit OFFSET :offset) ${ordered}`,
      {
        limit,
        offset,
        ...(few === undefined ? { ...filter?.values, workspace: number } : { few }),
      },
    );
    return { total, rows };
  };
}

interface Filter {
  /** The query that selects the row numbers. */
  readonly sql: string;
  readonly values: Record<string, SQLInputValue>;
}

function filterOf(number: number, query: CardQuery, all: boolean): Filter | undefined {
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
