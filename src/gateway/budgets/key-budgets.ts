/** The budgets of keys, from the register. They are cached until the register changes. */
import { andThen, BoundedMap, type MaybePromise } from '../../base/index.ts';
import { type Register, statement } from '../register/register.ts';
import { Budget } from './budget.ts';

/** Maximum number of keys whose budgets are in memory. */
const MAX_KEYS = 10_000;

const KEY_BUDGET = statement('SELECT workspace, budget FROM api_keys WHERE id = ?');

export interface KeyBudget {
  readonly budget: Budget;
  readonly workspace: string;
}

export interface KeyBudgets {
  /** Returns the budget of a key, or undefined if the key has none. */
  of(keyId: string): MaybePromise<KeyBudget | undefined>;
}

export function createKeyBudgets(register: Register): KeyBudgets {
  /** The cache, with null for keys without a budget. */
  const known = new BoundedMap<KeyBudget | null>(MAX_KEYS);
  let version = register.changed();
  return {
    of(keyId) {
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
          // If the register has changed since, the budget may be outdated. It must not stay in the cache.
          if (seen === register.changed()) known.set(keyId, found);
          return found ?? undefined;
        },
      );
    },
  };
}
