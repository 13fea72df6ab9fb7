/**
 * Finds a page of cards in PostgreSQL. A GIN index has the terms of each card (terms.ts). A card that has all trigrams
 * of a word may have them in another order, so the text is compared too.
 */
import { arrayStatement, type SqlValue, statement } from '../register/register.ts';
import type { Sort } from './schema.ts';
import { type CardSearch, sortOf } from './search.ts';
import { CARD_COLUMNS, CARD_TABLES, type CardRow } from './statements.ts';
import { phrasesOf, searchedText, termsOf, wordsOf } from './terms.ts';

const setTerms = statement(
  "UPDATE cards SET text = $text, terms = string_to_array($terms, ' ') WHERE row = $row",
);

/**
 * Changes two settings until the end of the transaction. Bitmap scans are allowed, because PostgreSQL uses a GIN index
 * only in a bitmap scan. The plan may depend on the values (`plan_cache_mode`), because they decide whether the index
 * helps.
 */
const USE_INDEX = arrayStatement<[string, string]>(`
  SELECT set_config('enable_bitmapscan', 'on', true), set_config('plan_cache_mode', 'auto', true)`);

/** The columns have the collation "C", so lower() changes only ASCII letters, as in SQLite. */
const COLUMN_OF: Readonly<Record<Sort, string>> = {
  name: 'lower(c.name)',
  slug: 'c.slug',
  createdAt: 'c.created',
  updatedAt: 'c.updated',
};

export const postgresSearch: CardSearch = {
  *replace(number, row, card) {
    // The flag for deleted cards is always false here, because `find` checks the column `deleted`.
    const { letters, marks } = termsOf(number, card, false);
    const terms = new Set(`${letters} ${marks}`.split(' ').filter(Boolean));
    yield* setTerms.run({ row, text: searchedText(card), terms: [...terms].join(' ') });
  },
  // There is nothing to do: the search terms are columns of the card's row, and are deleted with it.
  *remove() {},
  *find([number, live, deleted], query) {
    const { limit, offset, slug } = query;
    const all = query.include_deleted === 'true';
    const values: Record<string, SqlValue> = { workspace: number };
    const conditions = ['c.workspace = $workspace'];
    if (!all) conditions.push('c.deleted IS NULL');
    if (slug !== undefined) {
      values['slug'] = slug;
      conditions.push('c.slug = $slug');
    }
    const terms = phrasesOf(number, false, query).flat();
    if (terms.length > 0) {
      values['terms'] = terms.join(' ');
      conditions.push("c.terms @> string_to_array($terms, ' ')");
    }
    for (const [at, word] of wordsOf(query).entries()) {
      values[`word${at}`] = word;
      conditions.push(`strpos(c.text, $word${at}) > 0`);
    }
    const where = conditions.join(' AND ');
    if (terms.length > 0) yield* USE_INDEX.get();
    let total = all ? live + deleted : live;
    if (slug !== undefined || terms.length > 0) {
      const count = arrayStatement<[number]>(`SELECT count(*) FROM cards c WHERE ${where}`);
      total = (yield* count.get(values))?.[0] ?? 0;
    }
    if (offset >= total) return { total, rows: [] };
    const { sort, order } = sortOf(query);
    const page = arrayStatement<CardRow>(`
      SELECT ${CARD_COLUMNS} FROM ${CARD_TABLES} WHERE ${where}
      ORDER BY ${COLUMN_OF[sort]} ${order}, c.row ${order} LIMIT $limit OFFSET $offset`);
    const rows = yield* page.all({ ...values, limit, offset });
    return { total, rows };
  },
};
