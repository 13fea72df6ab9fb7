/** Reads the budgets of keys from the register (the gateway's database). They are cached until the register changes. */
import { andThen, BoundedMap, type MaybePromise } from '../../base/index.ts';
import type { PageQuery } from '../api/page.ts';
import { type Register, statement } from '../register/register.ts';
import { Budget } from './budget.ts';

/** Maximum number of keys whose budgets are in memory. */
const MAX_KEYS = 10_000;

const KEY_BUDGET = statement('SELECT workspace, budget FROM api_keys WHERE id = ?');
/** The keys that have a budget and can still be used. */
const USABLE = `
  FROM api_keys
  WHERE workspace = $workspace AND budget IS NOT NULL AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > $now)`;
const COUNT = statement(`SELECT count(*) AS number ${USABLE}`);
const BUDGETS = statement(`
  SELECT id, name, budget ${USABLE}
  ORDER BY created_at DESC, id DESC LIMIT $limit OFFSET $offset`);

export interface KeyBudget {
  readonly budget: Budget;
  readonly workspace: string;
}

export function createKeyBudgets(register: Register) {
  /** The cache, with null for keys without a budget. */
  const known = new BoundedMap<KeyBudget | null>(MAX_KEYS);
  let version = register.changed();
  return {
    /** Returns the budgets of the usable keys of a workspace, the newest keys first. */
    list: (workspace: string, page: PageQuery & { readonly now: number }) =>
      register.read(function* () {
        const rows = yield* BUDGETS.all({ workspace, ...page });
        return rows.map(({ id, name, budget }) => ({
          keyId: String(id),
          keyName: String(name),
          budget: Budget.parse(JSON.parse(String(budget))),
        }));
      }),
    /** Returns how many budgets `list` has on all pages. */
    count: (workspace: string, now: number) =>
      andThen(
        register.read(() => COUNT.get({ workspace, now })),
        (row) => Number(row?.['number'] ?? 0),
      ),
    /** Returns the budget of a key, or undefined if the key has none. */
    of(keyId: string): MaybePromise<KeyBudget | undefined> {
      const seen = register.changed();
      if (seen !== version) {
        version = seen;
        known.clear();
      }
      const cached = known.get(keyId);
      if (cached !== undefined) return cached ?? undefined;
      return andThen(
        register.read(() => KEY_BUDGET.get(keyId)),
        (row) => {
          const text = row?.['budget'];
          const found =
            typeof text === 'string'
              ? { budget: Budget.parse(JSON.parse(text)), workspace: String(row?.['workspace']) }
              : null;
          // If the register has changed since the read began, the budget may be outdated and must not be cached.
          if (seen === register.changed()) known.set(keyId, found);
          return found ?? undefined;
        },
      );
    },
  };
}
