/**
 * Enforces budgets in tokens and money. Before a call, tokens and money for its prompt and its longest possible answer
 * are reserved. After the call, the actual usage replaces the reservation.
 *
 *   const prompt = () => promptOf(target, request, relay);
 *   const reservation = await spending.reserve({ caller, model, pricing, prompt });
 *   … call the provider, with at most reservation.maxOutputTokens …
 *   reservation.settle({ inputTokens, outputTokens, cost });      // or reservation.release(), if nothing was used
 *
 * All budgets of a call must have room: the budget of its workspace, the budget of its key or JWT subject, and the
 * limit of its task. A call is refused if there is no room for its prompt and a small answer. Otherwise the answer is
 * limited to the room that is left. A budget can still be exceeded, for example if the tokens of a prompt were
 * underestimated, or if an agent uses more than its setting `usage`. A call without any budget is counted, but not
 * reserved.
 *
 * Usage that cannot be stored is kept in memory and stored as soon as possible.
 */
import { randomUUIDv7 } from 'node:crypto';
import { andThen, createSlots, type MaybePromise, QueueFullError } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { DAY_MS, type PageQuery } from '../api/fields.ts';
import { isPostgresRegister } from '../register/postgres-register.ts';
import type { Register } from '../register/register.ts';
import { type Budget, dayOf, periodAt } from './budget.ts';
import {
  budgetOfSubject,
  budgetOfWorkspace,
  type BudgetsConfig,
  type TaskLimit,
} from './config.ts';
import { type Holder, type Limit, NANOS } from './grant.ts';
import { createKeyBudgets } from './key-budgets.ts';
import { refused, wordFor } from './refusal.ts';
import type { BudgetOfHolder, BudgetPage, BudgetStatus } from './status.ts';
import type { CallUse, PlannedCall, Use } from './calls.ts';
import { createPostgresBudgetStore } from './postgres-store.ts';
import { createSqliteBudgetStore } from './sqlite-store.ts';
import type { PaidCall, PlannedBooking, Settlement } from './store.ts';
import { listSubjectBudgets } from './subject-budgets.ts';
import { FIRST_RETRY_MS, MAX_RETRY_MS, UnstoredUsage } from './unstored-usage.ts';
import type { UsagePage, UsageQuery } from './usage.ts';

/** Minimum number of days for which each day keeps its own rows. The rows of older days are merged by month. */
const DAYS_KEPT = 400;
/** Maximum number of days for which the usage of each task is kept. */
const TASK_DAYS_KEPT = 31;
/**
 * Maximum age of a reservation. An older reservation is treated as the reservation of a call that is no longer in
 * progress.
 */
const MAX_CALL_MS = DAY_MS;
/**
 * Interval between two searches for reservations of dead processes, in milliseconds. A search ends these reservations.
 * Those for calls to agents are ended only after a minute, so that a resumed task can take them over (`resume`).
 */
const RECOVER_MS = 10_000;
/**
 * With SQLite, reading usage blocks the event loop. After a read of more than QUICK_READ_MS, the next read waits
 * READ_PAUSE times the duration of this read. During the wait, other requests are served.
 */
const READ_PAUSE = 4;
const QUICK_READ_MS = 5;
/**
 * After every SEEN_STEP tokens of an answer, the number of its tokens is stored. After a crash, up to SEEN_STEP tokens
 * are not counted.
 */
const SEEN_STEP = 256;

/**
 * The reservation for one call. Every reservation must be ended with `settle` or `release`. Only the first of these
 * calls has an effect.
 */
export interface Reservation {
  /** The limit on output tokens in the request to the provider. Undefined if the request has no such limit. */
  readonly maxOutputTokens: number | undefined;
  /**
   * Records how many tokens of the answer have arrived, so that they are counted even after a crash. Never throws.
   * Undefined if nothing is reserved.
   */
  seen?(outputTokens: number): void;
  /** Counts the usage and ends the reservation. Never throws, because usage that cannot be stored is kept in memory. */
  settle(used: CallUse): void;
  /** Ends the reservation of a call that used nothing. */
  release(): void;
}

export type Spending = ReturnType<typeof createSpending>;

export interface SpendingOptions {
  readonly register: Register;
  readonly logger: Logger;
  readonly config?: BudgetsConfig | undefined;
  readonly now?: () => number;
}

const NO_LIMITS: readonly Limit[] = [];

export function createSpending(options: SpendingOptions) {
  const { register, logger, now = Date.now } = options;
  const store = isPostgresRegister(register)
    ? createPostgresBudgetStore(register)
    : createSqliteBudgetStore(register);
  const unstored = new UnstoredUsage({
    settle: (settlements) => store.settle(settlements),
    // With SQLite, an attempt may block the event loop, so the first pause is already the longest one.
    firstRetryMs: isPostgresRegister(register) ? FIRST_RETRY_MS : MAX_RETRY_MS,
    logger,
    now,
  });
  const keyBudgets = createKeyBudgets(register);
  let config: BudgetsConfig = options.config ?? {};
  let foldedOn = '';
  /** Runs the reads of usage one at a time. */
  const reads = createSlots(1);
  const { signal: forEver } = new AbortController();
  recoverSoon();
  // For a minute, `recover` keeps the reservations of a dead process for calls to agents. The timer ends these
  // reservations soon afterwards. Without the timer, they would shorten the answers of other calls until `recover`
  // happens to run again.
  const recovery = setInterval(recoverSoon, RECOVER_MS).unref();
  if (isPostgresRegister(register)) register.onNodeGone(recoverSoon);

  function recoverSoon(): void {
    recover().catch((error: unknown) =>
      logger.error(
        { err: error },
        'failed to look for reservations of calls that are no longer in progress',
      ),
    );
  }

  /**
   * Ends the reservations of calls that are no longer in progress, and counts their usage as far as it is known.
   * Returns the number of these reservations.
   */
  async function recover(): Promise<number> {
    const count = await store.recover(now());
    if (count > 0) {
      logger.warn({ count }, 'ended reservations of calls that are no longer in progress');
    }
    return count;
  }

  function limitsOf({ caller, taskId }: PlannedCall, time: number): MaybePromise<readonly Limit[]> {
    const { workspace, keyId, subject } = caller;
    return andThen(keyId === undefined ? undefined : keyBudgets.of(keyId), (ofKey) => {
      const { workspaces, subjects, task } = config;
      // Most calls have no budget, so this check comes first.
      if (!workspaces && !subjects && !task && !ofKey) return NO_LIMITS;
      const limits: Limit[] = [];
      const add = (kind: Holder['kind'], id: string, budget: AnyBudget | undefined) => {
        if (budget) limits.push(limitOf({ kind, workspace, id }, budget, time));
      };
      if (taskId !== undefined) add('task', taskId, task && { ...task, period: 'total' });
      if (keyId !== undefined) add('key', keyId, ofKey?.budget);
      if (subject !== undefined)
        add('subject', subject, budgetOfSubject(config, workspace, subject));
      add('workspace', '', budgetOfWorkspace(config, workspace));
      return limits;
    });
  }

  async function statusOf(holder: Holder, budget: Budget): Promise<BudgetStatus> {
    const limit = limitOf(holder, budget, now());
    const { tokens, nanos, reservedTokens, reservedNanos } = await store.spent(limit);
    const { from, endsAt } = limit.period;
    return {
      budget,
      spent: { tokens, amount: nanos / NANOS },
      reserved: { tokens: reservedTokens, amount: reservedNanos / NANOS },
      ...(endsAt !== undefined && {
        startsOn: from.padEnd(10, '-01'),
        resetsAt: new Date(endsAt).toISOString(),
      }),
    };
  }

  function planned(call: PlannedCall, limits: readonly Limit[], time: number): PlannedBooking {
    const { pricing, cost, agent = '' } = call;
    for (const limit of limits) {
      if (limit.nanos === undefined || agent !== '' || pricing?.currency === limit.currency)
        continue;
      throw new A2AError(
        'forbidden',
        `${capitalized(wordFor(limit))} has a budget in ${limit.currency}, but the model has no price in ${limit.currency}`,
      );
    }
    const inputTokens = wholeNumber(call.prompt());
    const inputPrice = pricing?.inputPricePerToken ?? 0;
    return {
      id: randomUUIDv7(),
      expiresAt: time + MAX_CALL_MS,
      ...paidCall(call, time),
      need: {
        inputTokens,
        inputNanos: wholeNumber(
          Math.ceil((inputTokens * inputPrice + (cost?.amount ?? 0)) * NANOS),
        ),
        outputPrice: (pricing?.outputPricePerToken ?? 0) * NANOS,
        currency: pricing?.currency ?? cost?.currency ?? '',
        maxOutputTokens: call.maxOutputTokens,
      },
      limits,
    };
  }

  /**
   * Reserves the prompt and the answer in all budgets. Throws `rateLimited` with the reason BUDGET_EXHAUSTED if a
   * budget is used up or too small for the call, or if the task has made its maximum number of calls. Throws
   * `rateLimited` without this reason if the rest of a budget is reserved for calls in progress. Throws `forbidden` if
   * a budget is in money and the model has no price in its currency. Throws `unavailable` if the budget of the key
   * cannot be read, or if there is a budget and the register cannot be written.
   */
  function reserve(call: PlannedCall): MaybePromise<Reservation> {
    const time = now();
    return andThen(limitsOf(call, time), (limits) =>
      limits.length === 0 ? opened(paidCall(call, time)) : reserveIn(call, limits, time),
    );
  }

  async function reserveIn(
    call: PlannedCall,
    limits: readonly Limit[],
    time: number,
  ): Promise<Reservation> {
    const plan = planned(call, limits, time);
    // The store checks the budgets against the stored usage, so usage in memory is stored first. Usage that arrives or
    // is being stored at this moment may be missing. If its call has a reservation, the budgets still count this
    // reservation.
    await unstored.storeFirst();
    let outcome = await store.reserve(plan);
    if (!outcome.granted && (await recover()) > 0) outcome = await store.reserve(plan);
    if (!outcome.granted) throw refused(outcome, plan, now());
    return opened(paidCall(call, time), plan.id, outcome.maxOutputTokens);
  }

  async function checkIn(call: PlannedCall, limits: readonly Limit[], time: number): Promise<void> {
    const plan = planned(call, limits, time);
    await unstored.storeIfDue();
    const outcome = await store.check(plan);
    if (!outcome.granted) throw refused(outcome, plan, now());
  }

  /** Returns the reservation of a call. Without an `id`, nothing is reserved, and the call is only counted. */
  function opened(call: PaidCall, id?: string, maxOutputTokens?: number): Reservation {
    let told = 0;
    let ended = false;
    const end = (used?: CallUse): void => {
      if (ended) return;
      ended = true;
      // The usage belongs to the day of its reservation, even if the call ends after midnight.
      if (used) keep({ id, booking: { ...call, ...numbersOf(used) } });
      else if (id !== undefined) keep({ id });
    };
    return {
      maxOutputTokens,
      ...(id !== undefined && {
        seen(outputTokens: number): void {
          if (ended || outputTokens < told + SEEN_STEP) return;
          told = outputTokens;
          // A failure is ignored here, because the register logs it, and the number is needed only after a crash.
          void (async () => store.seen(id, wholeNumber(outputTokens)))().catch(() => undefined);
        },
      }),
      settle: end,
      release: () => end(),
    };
  }

  function keep(settlement: Settlement): void {
    unstored.add(settlement);
    fold(dayOf(now()));
  }

  /** Merges the rows of old days into rows of months, and deletes old rows of tasks. Does this at most once a day. */
  function fold(today: string): void {
    if (today === foldedOn || unstored.failing) return;
    foldedOn = today;
    const daysAgo = (days: number) => dayOf(Date.parse(today) - days * DAY_MS);
    const before = { month: daysAgo(DAYS_KEPT).slice(0, 7), taskDay: daysAgo(TASK_DAYS_KEPT) };
    void (async () => store.fold(before))().catch((error: unknown) =>
      logger.warn({ err: error }, 'failed to merge old usage rows'),
    );
  }

  return {
    /**
     * Checks the budgets like `reserve` and throws the same `rateLimited` and `forbidden` errors, but reserves nothing.
     * Used for requests that are accepted before their call starts. Does not throw if usage cannot be stored. Returns a
     * promise only if the call has a budget, or if the budget of its key must be read from PostgreSQL.
     */
    check(call: PlannedCall): MaybePromise<void> {
      const time = now();
      return andThen(limitsOf(call, time), (limits) =>
        limits.length === 0 ? undefined : checkIn(call, limits, time),
      );
    },
    reserve,
    /**
     * Takes over the reservation that another process made for a call to an agent. If there is no reservation, the call
     * is only counted. It is not refused, because it has already been made.
     */
    async resume(call: PlannedCall): Promise<Reservation> {
      const { workspace } = call.caller;
      const begun = await store.adopt(workspace, call.taskId ?? '');
      if (!begun) return opened(paidCall(call, now()));
      const { id, ...paid } = begun;
      return opened(paid, id);
    },
    /** Counts the usage of one call. Never throws, because usage that cannot be stored is kept in memory. */
    record(use: Use): void {
      keep({ booking: { ...paidCall({ ...use, caller: use }, now()), ...numbersOf(use) } });
    },
    /** Returns the status of the key's budget, or undefined if the key has no budget. */
    async budgetStatus(keyId: string): Promise<BudgetStatus | undefined> {
      const found = await keyBudgets.of(keyId);
      if (!found) return undefined;
      const { budget, workspace } = found;
      await unstored.flush();
      return statusOf({ kind: 'key', workspace, id: keyId }, budget);
    },
    /**
     * Returns one page of the workspace's budgets with their status. The workspace's own budget comes first, if it has
     * one. The budgets of its keys follow, the newest keys first, and then the budgets of its JWT subjects.
     */
    async budgets(workspace: string, { limit, offset }: PageQuery): Promise<BudgetPage> {
      await unstored.flush();
      const own = budgetOfWorkspace(config, workspace);
      const items: BudgetOfHolder[] = [];
      if (own && offset === 0) {
        items.push(await statusOf({ kind: 'workspace', workspace, id: '' }, own));
      }
      const room = limit - items.length;
      const skipped = own ? Math.max(0, offset - 1) : offset;
      const page = { limit: room + 1, offset: skipped, now: now() };
      const keys = await keyBudgets.list(workspace, page);
      for (const { keyId, keyName, budget } of keys.slice(0, room)) {
        const status = await statusOf({ kind: 'key', workspace, id: keyId }, budget);
        items.push({ keyId, keyName, ...status });
      }
      if (keys.length > room) return { items, next: offset + limit };
      const before =
        keys.length > 0 ? skipped + keys.length : await keyBudgets.count(workspace, now());
      const subjects = await listSubjectBudgets(register, config, workspace, {
        limit: room - keys.length + 1,
        offset: Math.max(0, skipped - before),
      });
      for (const { subject, budget } of subjects.slice(0, room - keys.length)) {
        const status = await statusOf({ kind: 'subject', workspace, id: subject }, budget);
        items.push({ subject, ...status });
      }
      return { items, next: keys.length + subjects.length > room ? offset + limit : undefined };
    },
    /** Reads the usage of a workspace, or of all workspaces if it is undefined. */
    async usage(workspace: string | undefined, query: UsageQuery): Promise<UsagePage> {
      await unstored.flush();
      const release = await reads.take(workspace ?? '', forEver).catch(tooManyReads);
      const begun = performance.now();
      try {
        return await store.usage(workspace, query);
      } finally {
        const ms = performance.now() - begun;
        if (ms <= QUICK_READ_MS) release();
        else setTimeout(release, ms * READ_PAUSE).unref();
      }
    },
    /** Changes the budgets of workspaces, subjects and tasks for the next calls. */
    use(next: BudgetsConfig): void {
      config = next;
    },
    /** Stores the usage that is not stored yet. Never rejects. */
    flush: () => unstored.flush(),
    /** Like `flush`, for the last time. Never rejects. */
    close() {
      clearInterval(recovery);
      return unstored.close();
    },
  };
}

/** Returns the caller, the target and the day of a call, as the register stores them. */
function paidCall(
  call: Pick<PlannedCall, 'caller' | 'model' | 'agent' | 'taskId' | 'contextId'>,
  time: number,
): PaidCall {
  const { model = '', agent = '', taskId = '', contextId = '' } = call;
  const { workspace, keyId = '', subject = '' } = call.caller;
  return { workspace, keyId, subject, taskId, contextId, day: dayOf(time), model, agent };
}

function tooManyReads(error: unknown): never {
  if (!(error instanceof QueueFullError)) throw error;
  throw new A2AError('rateLimited', 'Too many reads of usage are waiting', {
    retryAfterSeconds: 1,
  });
}

/** A budget, or the limit of a task. */
type AnyBudget = Budget & Pick<TaskLimit, 'calls'>;

function limitOf(holder: Holder, budget: AnyBudget, time: number): Limit {
  const { calls, tokens, amount, currency = '', period } = budget;
  return {
    holder,
    every: period,
    period: periodAt(period, time),
    calls,
    tokens,
    nanos: amount === undefined ? undefined : Math.round(amount * NANOS),
    currency,
  };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function numbersOf({ inputTokens, outputTokens, cost, failed = false }: CallUse) {
  return {
    failed,
    currency: cost?.currency ?? '',
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
