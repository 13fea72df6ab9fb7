/**
 * Budgets: what each key has used, counted durably, and whether it may use more.
 *
 * Counted in whole numbers (money in nano-units of its currency), one row per key, UTC day, model and currency, written
 * at each use in one statement. The sums that a budget is held against are read once and kept in memory: this process
 * is the only one that counts. A use that cannot be written is kept and tried again with one of the next.
 *
 * What an answer takes is known when it ends. Until then it counts as much as the key's answers did on average, so that
 * many at once do not overshoot by all that they take; before the first of them has ended there may be only a few.
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
/** Answers under way of a key that has had none: what they take is anybody's guess. */
const MAX_UNKNOWN = 4;
/** Until one of them may be over. */
const WAIT_SECONDS = 1;
const MAX_KEYS_IN_MEMORY = 10_000;
/** Sums that wait for a disk that fails. They are few: one for each key, model and day. */
const MAX_UNWRITTEN = 10_000;
/** A register that failed is left alone for so long: trying may take time, and everybody waits meanwhile. */
const RETRY_MS = 5000;
/** Longer ago, the days of a month are added up. */
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
  /** ISO 4217. */
  readonly currency: string;
}

/** A key's budget and how much of it is spent. */
export interface BudgetStatus {
  readonly budget: Budget;
  /** `amount` is in the budget's currency. */
  readonly spent: { readonly tokens: number; readonly amount: number };
  /** When the next period begins. */
  readonly resetsAt?: string;
}

export const UsageRow = z.object({
  day: z.string().describe('YYYY-MM-DD, or YYYY-MM for what is long ago'),
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
  /** Days, both included. */
  readonly from: string;
  readonly to: string;
  readonly limit: number;
}

export interface Spending {
  /**
   * Throws `rateLimited` with the reason BUDGET_EXHAUSTED if the key's budget is spent, and without that reason if calls
   * in progress need the rest. Throws `forbidden` if the budget is in money and the model has no price in its currency.
   */
  check(caller: Pick<Caller, 'keyId'>, pricing: Pricing | undefined): void;
  /** A call is in progress until the returned function is called. Throws as `check` does. */
  begin(caller: Pick<Caller, 'keyId'>, pricing: Pricing | undefined): () => void;
  /** Counts one use. Never throws: a use that cannot be stored is logged and counted in memory. */
  record(use: Use): void;
  /** Undefined if the key has no budget. */
  budgetStatus(keyId: string): BudgetStatus | undefined;
  /** Usage rows, newest days first. */
  usage(workspace: string, query: UsageQuery): readonly UsageRow[];
  /** Stores what could not be stored so far. Never throws. */
  flush(): void;
}

export interface SpendingOptions {
  readonly register: Register;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** One row of the table, or what is to be added to it. */
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

interface Account {
  readonly budget: Budget | undefined;
  /** Of the sums. Another one: they are read anew. */
  period: string | undefined;
  uses: number;
  tokens: number;
  nanos: number;
  /** Answers under way. */
  running: number;
}

export function createSpending({ register, logger, now = Date.now }: SpendingOptions): Spending {
  const sql = statements(register);
  const accounts = new BoundedMap<Account>(MAX_KEYS_IN_MEMORY);
  const unwritten = new Map<string, Sum>();
  /** When it could not be written; undefined: it can. */
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

  /** The account's sums are those of the period. */
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
      logger.error({ ...sum }, 'a use is not counted: too much waits to be written');
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
      // Once for each time that it begins: it would be said with every task.
      if (failedAt === undefined) {
        logger.error({ err: error }, 'what was spent cannot be written; it is kept in memory');
      }
      failedAt = now();
    }
  }

  /** Once a day, days of long ago become months: what a year adds to the table is small. */
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
      logger.warn({ err: error }, 'what was spent long ago could not be added up');
    }
  }

  /** The key's account, if it may spend more. Undefined: it has no budget. Throws as `check` does. */
  function solvent(keyId: string, pricing: Pricing | undefined): Account | undefined {
    const account = accountOf(keyId);
    const { budget } = account;
    if (!budget) return undefined;
    if (budget.amount !== undefined && pricing?.currency !== budget.currency) {
      throw new A2AError(
        'forbidden',
        `This key has a budget in ${budget.currency}, and the model has no price in it`,
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
        `The budget of this key is spent${PHRASES[budget.period]}`,
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
      'What is left of the budget of this key is needed for answers that are under way: try again when they have ended',
      { retryAfterSeconds: WAIT_SECONDS },
    );
  }

  return {
    check({ keyId }, pricing) {
      if (keyId !== undefined) solvent(keyId, pricing);
    },

    begin({ keyId }, pricing) {
      const account = keyId === undefined ? undefined : solvent(keyId, pricing);
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
      register.read(() => sql.usage.all({ workspace, keyId, from, to, limit }).map(usageOf)),

    flush,
  };
}

const PHRASES = { day: ' for today', month: ' for this month', total: '' } as const;

function statements({ db }: Register) {
  const columns =
    'workspace, key_id, day, model, currency, uses, input_tokens, output_tokens, nanos';
  // What a vendor claims to have used may be absurd; a sum that SQLite cannot hold would never be written.
  const added = ['uses', 'input_tokens', 'output_tokens', 'nanos'].map(
    (name) => `${name} = min(${name} + excluded.${name}, ${Number.MAX_SAFE_INTEGER})`,
  );
  const conflict = `ON CONFLICT DO UPDATE SET ${added.join(', ')}`;
  return {
    budget: db.prepare('SELECT budget FROM api_keys WHERE id = ?'),
    // Real numbers: beyond what JavaScript can count to, a sum is near enough and no failure.
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
    // A month is there as soon as one of its days was asked for.
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
    inputTokens: whole(inputTokens),
    outputTokens: whole(outputTokens),
    nanos: whole((cost?.amount ?? 0) * NANOS),
  };
}

/** What a vendor says of itself may be anything. */
function whole(number: number): number {
  return Number.isFinite(number)
    ? Math.min(Math.max(0, Math.round(number)), Number.MAX_SAFE_INTEGER)
    : 0;
}

function usageOf(row: Readonly<Record<string, unknown>>): UsageRow {
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
