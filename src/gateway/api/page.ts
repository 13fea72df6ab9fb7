/** Lists over HTTP come in pages: `limit`, `offset`, and a `total` that counts what is on all of them. */
import * as z from 'zod';

export const MAX_PAGE = 100;
const DEFAULT_PAGE = 50;

/** A whole number in an address, where everything is text. `otherwise` inside, so that OpenAPI says it, too. */
export function whole(min: number, max = Number.MAX_SAFE_INTEGER, otherwise?: number) {
  const end = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
  const rule = `a whole number from ${min}${end}`;
  const number = z.int(rule).min(min, rule).max(max, rule);
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value),
    otherwise === undefined ? number : number.default(otherwise),
  );
}

/** Which part of a list. */
export const PageQuery = z.object({
  limit: whole(1, MAX_PAGE, DEFAULT_PAGE),
  offset: whole(0, undefined, 0),
});
export type PageQuery = Readonly<z.infer<typeof PageQuery>>;

/** A page of a list, and how long all of it is. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    total: z.int().min(0),
    limit: z.int(),
    offset: z.int(),
  });
}
