/** The interface of the search for cards. SQLite and PostgreSQL have different indexes. */
import type { Steps } from '../register/register.ts';
import type { CardQuery, Sort } from './schema.ts';
import type { CardRow, WorkspaceRow } from './statements.ts';
import type { Findable } from './terms.ts';

export interface CardSearch {
  /** Replaces the entry of a card. `number` is the number of the workspace, and `row` is the row of the card. */
  replace(number: number, row: number, card: Findable, deleted: boolean): Steps<void>;
  /** Removes the entry of a card that was removed. */
  remove(row: number): Steps<void>;
  /** Finds a page of cards, with filters, search, sorting and exact totals. */
  find(
    workspace: WorkspaceRow,
    query: CardQuery,
  ): Steps<{ readonly total: number; readonly rows: readonly CardRow[] }>;
}

/** Returns the field and the direction of a sort order such as `-name`. */
export function sortOf({ sort: given }: Pick<CardQuery, 'sort'>) {
  const descending = given.startsWith('-');
  const sort = (descending ? given.slice(1) : given) as Sort;
  return { sort, order: descending ? 'DESC' : 'ASC' };
}
