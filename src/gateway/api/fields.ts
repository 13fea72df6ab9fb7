/**
 * Schemas of fields that requests, responses and the configuration share: whole numbers, days, and the pages and
 * filters of lists. Lists are paged with `limit` and `offset`. `total` is the number of items on all pages.
 */
import * as z from 'zod';

export const MAX_PAGE = 100;
const DEFAULT_PAGE = 50;

/** Returns the schema of a whole number in JSON. */
export function integer(min: number, max: number) {
  return z.int().min(min).max(max);
}

/**
 * Returns the schema of a whole number in a query string. `otherwise` is the default. It is part of the schema, so that
 * OpenAPI shows it.
 */
export function whole(min: number, max = Number.MAX_SAFE_INTEGER, otherwise?: number) {
  const end = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
  const rule = `a whole number from ${min}${end}`;
  const number = z.int(rule).min(min, rule).max(max, rule);
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value),
    otherwise === undefined ? number : number.default(otherwise),
  );
}

export const DAY_MS = 86_400_000;
/** A day in UTC. */
export const Day = z.iso.date('must be a day such as 2026-01-31');

/** An optional `true` or `false` in a query string. */
export const TrueOrFalse = z.enum(['true', 'false']).optional();

/** A name or an id by which a list is filtered. */
export const NameFilter = z.string().max(1024).optional();

/** Selects one page of a list. */
export const PageQuery = z.object({
  limit: whole(1, MAX_PAGE, DEFAULT_PAGE),
  offset: whole(0, undefined, 0),
});
export type PageQuery = Readonly<z.infer<typeof PageQuery>>;

/** The offset of the next page, in a list without a total. */
export const NextOffset = z
  .int()
  .optional()
  .describe('The `offset` of the next page. Missing on the last page');

/** One page of a list. */
export interface OffsetPage<Item> {
  readonly items: readonly Item[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}

/** Returns the schema of an OffsetPage. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    total: z.int().min(0),
    limit: z.int(),
    offset: z.int(),
  });
}
