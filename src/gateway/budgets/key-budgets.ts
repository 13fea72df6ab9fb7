/**
 * Reads the budgets of keys from the register (the gateway's database). The budgets of single keys (`of`) are cached
 * until the register changes.
 */
import { andThen, type MaybePromise } from '../../base/index.ts';
import type { PageQuery } from '../api/fields.ts';
import { type Register, statement } from '../register/register.ts';
import { createRegisterCache } from '../register/register-cache.ts';
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
  const cached = createRegisterCache<KeyBudget>(register, MAX_KEYS);
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
    of: (keyId: string): MaybePromise<KeyBudget | undefined> =>
      cached(keyId, () =>
        register.read(function* () {
          const row = yield* KEY_BUDGET.get(keyId);
          const text = row?.['budget'];
          if (typeof text !== 'string') return undefined;
          return { budget: Budget.parse(JSON.parse(text)), workspace: String(row?.['workspace']) };
        }),
      ),
  };
}
