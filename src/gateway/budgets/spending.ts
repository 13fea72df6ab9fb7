/**
 * Stores the usage of each key, and decides whether the key's budget allows another call.
 *
 * The table has one row per key, UTC day, model and currency. All amounts are integers. Money is stored in billionths
 * of its currency. Each use is stored with one statement. The sums that are compared with a budget are read once and
 * then kept in memory, because this process is the only writer. A use that cannot be stored is kept in memory, and is
 * stored together with a later use.
 *
 * The usage of a call is known only when the call ends. Until then, the average usage of the key's earlier calls is
 * assumed. Without this estimate, many concurrent calls could exceed the budget by far. A key without completed calls
 * may make only a few concurrent calls.
 */
import * as z from 'zod';
import { BoundedMap } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Register } from '../register/register.ts';
import type { Pricing } from '../cards/schema.ts';
import type { Caller } from '../api/caller.ts';
import { Budget, dayOf, type Period, periodAt } from './budget.ts';

const NANOS = 1_000_000_000;
/** Maximum number of concurrent calls of a key without completed calls, because it has no average usage yet. */
const MAX_UNKNOWN = 4;
/** The Retry-After while the rest of the budget is reserved for calls in progress. */
const WAIT_SECONDS = 1;
const MAX_KEYS_IN_MEMORY = 10_000;
/**
 * Maximum number of rows in memory while the register cannot be written. There is one row for each key, model and day.
 */
const MAX_UNWRITTEN = 10_000;
/** Minimum time between attempts to write after a failure, because an attempt may block the event loop. */
const RETRY_MS = 5000;
/** Number of days that keep their own rows. The rows of older days are merged into one row per month. */
const DAYS_KEPT = 400;
const DAY_MS = 86_400_000;

/** The usage of one model call. */
export interface Use {
  readonly workspace: string;
  readonly keyId?: string | undefined;
  readonly model: string;
  readonly provider: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Undefined if the model card has no price. */
  readonly cost?: Money | undefined;
}

export interface Money {
  readonly amount: number;
  /** The currency code of ISO 4217. */
  readonly currency: string;
}

/** A key's budget, and how much of it is used up. */
export interface BudgetStatus {
  readonly budget: Budget;
  /** `amount` is in the budget's currency. */
  readonly spent: { readonly tokens: number; readonly amount: number };
  /** When the next period begins. */
  readonly resetsAt?: string;
}

export const UsageRow = z.object({
  day: z.string().describe('YYYY-MM-DD, or YYYY-MM for old usage'),
  keyId: z.string().optional(),
  model: z.string(),
  uses: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cost: z.object({ amount: z.number(), currency: z.string() }).optional(),
});
export type UsageRow = Readonly<z.infer<typeof UsageRow>>;

export interface UsageQuery {
  readonly keyId?: string | undefined;
  /** The first and the last day, both inclusive. */
  readonly from: string;
  readonly to: string;
  readonly limit: number;
}

export interface Spending {
  /**
   * Checks the key's budget. Throws `rateLimited` with the reason BUDGET_EXHAUSTED if the budget is used up. Throws
   * `rateLimited` without this reason if the rest of the budget is reserved for calls in progress. Throws `forbidden`
   * if the budget is in money and the model has no price in its currency.
   */
  check(caller: Pick<Caller, 'keyId'>, pricing: Pricing | undefined): void;
  /** Marks a call as in progress until the returned function is called. Throws the same errors as `check`. */
  begin(caller: Pick<Caller, 'keyId'>, pricing: Pricing | undefined): () => void;
  /** Counts one use. Never throws: a use that cannot be stored is logged and counted in memory. */
  record(use: Use): void;
  /** Returns the status of the key's budget, or undefined if the key has no budget. */
  budgetStatus(keyId: string): BudgetStatus | undefined;
  /** Returns the rows of the workspace, newest days first. */
  usage(workspace: string, query: UsageQuery): readonly UsageRow[];
  /** Stores the usage that could not be stored before. Never throws. */
  flush(): void;
}

export interface SpendingOptions {
  readonly register: Register;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** One row of the table, or the amounts to add to it. */
interface Sum {
  readonly workspace: string;
  readonly keyId: string;
  readonly day: string;
  readonly model: string;
  readonly currency: string;
  uses: number;
  inputTokens: number;
  outputTokens: number;
  nanos: number;
}

/** A key's budget, and its sums in the current period. */
interface Account {
  readonly budget: Budget | undefined;
  /** The period of the sums. When another period begins, the sums are read again. */
  period: string | undefined;
  uses: number;
  tokens: number;
  nanos: number;
  /** The number of calls in progress. */
  running: number;
}

export function createSpending({ register, logger, now = Date.now }: SpendingOptions): Spending {
  const sql = statements(register);
  const accounts = new BoundedMap<Account>(MAX_KEYS_IN_MEMORY);
  const unwritten = new Map<string, Sum>();
  /** The time when the last write failed, or undefined if it succeeded. */
  let failedAt: number | undefined;
  let foldedOn = '';

  function accountOf(keyId: string): Account {
    const there = accounts.get(keyId);
    if (there) return there;
    const row = register.read(() => sql.budget.get(keyId));
    const text = row?.['budget'];
    const budget = typeof text === 'string' ? Budget.parse(JSON.parse(text)) : undefined;
    const account = { budget, period: undefined, uses: 0, tokens: 0, nanos: 0, running: 0 };
    accounts.set(keyId, account);
    return account;
  }

  /** Reads the account's sums again if they belong to another period. */
  function settle(account: Account, keyId: string, budget: Budget, period: Period): void {
    if (account.period === period.name) return;
    const { currency = '' } = budget;
    const named = { keyId, currency, from: period.from, to: period.to };
    const row = register.read(() => sql.spent.get(named));
    account.uses = Number(row?.['uses']);
    account.tokens = Number(row?.['tokens']);
    account.nanos = Number(row?.['nanos']);
    for (const sum of unwritten.values()) {
      if (sum.keyId === keyId && sum.day >= period.from && sum.day < period.to) {
        count(account, sum, currency);
      }
    }
    account.period = period.name;
  }

  function count(account: Account, sum: Sum, currency: string): void {
    account.uses += sum.uses;
    account.tokens += sum.inputTokens + sum.outputTokens;
    if (sum.currency === currency) account.nanos += sum.nanos;
  }

  function keep(sum: Sum): void {
    const name = JSON.stringify([sum.workspace, sum.keyId, sum.day, sum.model, sum.currency]);
    const there = unwritten.get(name);
    if (there) {
      there.uses += sum.uses;
      there.inputTokens += sum.inputTokens;
      there.outputTokens += sum.outputTokens;
      there.nanos += sum.nanos;
    } else if (unwritten.size < MAX_UNWRITTEN) {
      unwritten.set(name, sum);
    } else {
      logger.error({ ...sum }, 'dropped a usage record: too many records wait to be stored');
    }
  }

  function flush(): void {
    try {
      for (const [name, sum] of unwritten) {
        sql.add.run({ ...sum });
        unwritten.delete(name);
      }
      failedAt = undefined;
    } catch (error) {
      // Logged once per outage, not with every call.
      if (failedAt === undefined) {
        logger.error({ err: error }, 'failed to store usage; it is kept in memory and retried');
      }
      failedAt = now();
    }
  }

  /** Merges the rows of old days into months, to keep the table small. Does this only once a day. */
  function fold(today: string): void {
    if (today === foldedOn || failedAt !== undefined) return;
    foldedOn = today;
    const before = dayOf(Date.parse(today) - DAYS_KEPT * DAY_MS).slice(0, 7);
    try {
      register.transaction(() => {
        sql.fold.run(before);
        sql.drop.run(before);
      });
    } catch (error) {
      logger.warn({ err: error }, 'failed to merge old usage rows');
    }
  }

  /**
   * Returns the key's account if the key may make another call. Returns undefined if the key has no budget. Throws the
   * same errors as `check`.
   */
  function needBudget(keyId: string, pricing: Pricing | undefined): Account | undefined {
    const account = accountOf(keyId);
    const { budget } = account;
    if (!budget) return undefined;
    if (budget.amount !== undefined && pricing?.currency !== budget.currency) {
      throw new A2AError(
        'forbidden',
        `This key has a budget in ${budget.currency}, but the model has no price in ${budget.currency}`,
      );
    }
    const period = periodAt(budget.period, now());
    settle(account, keyId, budget, period);
    const { tokens = Infinity, amount = Infinity } = budget;
    const { uses, running } = account;
    const most = { tokens, nanos: Math.round(amount * NANOS) };
    if (account.tokens >= most.tokens || account.nanos >= most.nanos) {
      throw new A2AError(
        'rateLimited',
        `The budget of this key is used up${PHRASES[budget.period]}`,
        {
          reason: 'BUDGET_EXHAUSTED',
          ...(period.endsAt !== undefined && {
            retryAfterSeconds: Math.max(1, Math.ceil((period.endsAt - now()) / 1000)),
          }),
        },
      );
    }
    const expected = (spent: number) => spent + (spent / uses) * running;
    const taken =
      uses === 0
        ? running >= MAX_UNKNOWN
        : running > 0 &&
          (expected(account.tokens) >= most.tokens || expected(account.nanos) >= most.nanos);
    if (!taken) return account;
    throw new A2AError(
      'rateLimited',
      'The rest of the budget of this key is reserved for calls in progress: try again when they have ended',
      { retryAfterSeconds: WAIT_SECONDS },
    );
  }

  return {
    check({ keyId }, pricing) {
      if (keyId !== undefined) needBudget(keyId, pricing);
    },

    begin({ keyId }, pricing) {
      const account = keyId === undefined ? undefined : needBudget(keyId, pricing);
      if (!account) return () => {};
      account.running += 1;
      let ended = false;
      return () => {
        if (!ended) account.running -= 1;
        ended = true;
      };
    },

    record(use) {
      const time = now();
      const sum = sumOf(use, dayOf(time));
      const account = accounts.get(sum.keyId);
      if (account?.budget !== undefined && account.period !== undefined) {
        const { period, currency = '' } = account.budget;
        if (periodAt(period, time).name === account.period) count(account, sum, currency);
      }
      keep(sum);
      if (failedAt === undefined || Math.abs(time - failedAt) >= RETRY_MS) flush();
      fold(sum.day);
    },

    budgetStatus(keyId) {
      const account = accountOf(keyId);
      const { budget } = account;
      if (!budget) return undefined;
      const period = periodAt(budget.period, now());
      settle(account, keyId, budget, period);
      const spent = { tokens: account.tokens, amount: account.nanos / NANOS };
      return {
        budget,
        spent,
        ...(period.endsAt !== undefined && { resetsAt: new Date(period.endsAt).toISOString() }),
      };
    },

    usage: (workspace, { keyId = null, from, to, limit }) =>
      register.read(() => sql.usage.all({ workspace, keyId, from, to, limit }).map(usageRow)),

    flush,
  };
}

const PHRASES = { day: ' for today', month: ' for this month', total: '' } as const;

function statements({ db }: Register) {
  const columns =
    'workspace, key_id, day, model, currency, uses, input_tokens, output_tokens, nanos';
  // A vendor may report absurdly large numbers. A sum that is too large for SQLite could not be stored.
  const added = ['uses', 'input_tokens', 'output_tokens', 'nanos'].map(
    (name) => `${name} = min(${name} + excluded.${name}, ${Number.MAX_SAFE_INTEGER})`,
  );
  const conflict = `ON CONFLICT DO UPDATE SET ${added.join(', ')}`;
  return {
    budget: db.prepare('SELECT budget FROM api_keys WHERE id = ?'),
    // total() returns a float. So a very large sum is rounded and does not cause an error.
    spent: db.prepare(`
      SELECT total(uses) AS uses, total(input_tokens + output_tokens) AS tokens,
             total(CASE WHEN currency = $currency THEN nanos ELSE 0 END) AS nanos
      FROM spending WHERE key_id = $keyId AND day >= $from AND day < $to`),
    add: db.prepare(`
      INSERT INTO spending (${columns})
      VALUES ($workspace, $keyId, $day, $model, $currency, $uses, $inputTokens, $outputTokens, $nanos)
      ${conflict}`),
    fold: db.prepare(`
      INSERT INTO spending (${columns})
      SELECT workspace, key_id, substr(day, 1, 7), model, currency,
             sum(uses), sum(input_tokens), sum(output_tokens), sum(nanos)
      FROM spending WHERE day < ? AND length(day) = 10 GROUP BY 1, 2, 3, 4, 5
      ${conflict}`),
    drop: db.prepare('DELETE FROM spending WHERE day < ? AND length(day) = 10'),
    // A row of a whole month is included if the range contains one of its days.
    usage: db.prepare(`
      SELECT day, key_id, model, currency, CAST(uses AS REAL) AS uses, CAST(nanos AS REAL) AS nanos,
             CAST(input_tokens AS REAL) AS inputTokens, CAST(output_tokens AS REAL) AS outputTokens
      FROM spending
      WHERE workspace = $workspace AND ($keyId IS NULL OR key_id = $keyId)
        AND day >= substr($from, 1, length(day)) AND day <= $to
      ORDER BY day DESC, key_id, model, currency LIMIT $limit`),
  };
}

function sumOf(
  { workspace, keyId = '', model, inputTokens, outputTokens, cost }: Use,
  day: string,
): Sum {
  return {
    workspace,
    keyId,
    day,
    model,
    currency: cost?.currency ?? '',
    uses: 1,
    inputTokens: wholeNumber(inputTokens),
    outputTokens: wholeNumber(outputTokens),
    nanos: wholeNumber((cost?.amount ?? 0) * NANOS),
  };
}

/** Converts a vendor's number to a safe, non-negative integer. */
function wholeNumber(number: number): number {
  return Number.isFinite(number)
    ? Math.min(Math.max(0, Math.round(number)), Number.MAX_SAFE_INTEGER)
    : 0;
}

function usageRow(row: Readonly<Record<string, unknown>>): UsageRow {
  const currency = String(row['currency']);
  const cost: Money | undefined =
    currency === '' ? undefined : { amount: Number(row['nanos']) / NANOS, currency };
  return {
    day: String(row['day']),
    ...(row['key_id'] !== '' && { keyId: String(row['key_id']) }),
    model: String(row['model']),
    uses: Number(row['uses']),
    inputTokens: Number(row['inputTokens']),
    outputTokens: Number(row['outputTokens']),
    ...(cost && { cost }),
  };
}
