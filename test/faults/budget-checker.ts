/**
 * Checks the budgets of keys and workspaces after a run with faults, in tokens. A budget in money is converted: all
 * tokens have the same price. What the gateway promises:
 *
 * - A call is reserved before the provider is asked. So a budget is exceeded at most by the calls that were in flight on
 *   a node that was killed or lost its lease: their reservations were released before they ended.
 * - The usage is what the provider has charged. Only for a call in flight on a killed node, it is an estimate: the prompt,
 *   and the part of the answer that the node had stored.
 * - After the recovery, nothing is reserved for calls that have ended, so a call is granted if the rest of its budget is
 *   large enough, and its answer may be as long as that rest.
 */

/** A call that the provider has seen. */
export interface VendorCall {
  readonly id: string;
  /** The process that called. */
  readonly node: string;
  /** The maximum number of tokens in the answer. */
  readonly limit: number;
  /** The tokens that the provider has charged so far. */
  charged: number;
  readonly from: number;
  /** The time when the answer was complete, or the connection was closed. */
  to: number;
}

/** A time in which a process was dead (`to` is infinite) or paused, or had lost its lease. */
export interface Incident {
  readonly node: string;
  readonly from: number;
  readonly to: number;
}

/** A call after the recovery, for as many tokens as the budget has left. */
export interface Probe {
  readonly holder: string;
  readonly id: string;
  readonly isGranted: boolean;
  /** The rest of the budget, and how many tokens of it the call asked for. */
  readonly rest: number;
  readonly limit: number;
}

export interface BudgetHistory {
  readonly calls: VendorCall[];
  /** The holder of the budget of each call, by the id of the call. */
  readonly holders: Map<string, string>;
  readonly incidents: Incident[];
  /** The times when the database could not be reached, or a node was paused. */
  readonly outages: { readonly from: number; to: number }[];
  readonly probes: Probe[];
}

/** What is stored for the holder of a budget: a key or a workspace. */
export interface StoredBudget {
  readonly holder: string;
  readonly tokens: number;
  /** The sum of the usage, and the counter that is compared with the budget. */
  readonly spent: number;
  readonly counted: number;
  readonly reserved: number;
  /** The reservations of calls that have not ended. `counted`: what was counted for the call of a dead node. */
  readonly left: readonly {
    readonly owner: string;
    readonly isRecovered: boolean;
    readonly tokens: number;
    readonly counted: number;
  }[];
}

/** Number of tokens of a prompt that a call may ask for at most, in this test. */
export const PROMPT_ROOM = 60;
/** The smallest answer for which a call is granted. */
const SMALL_ANSWER = 16;
/** How long it may take to store the usage of a call. */
const STORE_MS = 3000;
/** How long after an outage usage may still wait to be stored. */
const RETRY_MS = 8000;

export function emptyBudgetHistory(): BudgetHistory {
  return { calls: [], holders: new Map(), incidents: [], outages: [], probes: [] };
}

/** Returns the broken promises, one line each. `callers` is the number of clients that use a budget at the same time. */
export function checkBudgets(
  history: BudgetHistory,
  budgets: readonly StoredBudget[],
  callers: number,
): string[] {
  const owners = new Set(budgets.flatMap(({ left }) => left.map(({ owner }) => owner)));
  const broken = budgets.flatMap((budget) => checkBudget(history, budget, callers));
  // A process gets a new id each time when it has lost its lease.
  const most = history.incidents.length;
  if (owners.size > most) {
    broken.push(`${owners.size} nodes left reservations behind, but only ${most} were disturbed`);
  }
  for (const probe of history.probes) broken.push(...checkProbe(history, probe));
  return broken;
}

function checkBudget(history: BudgetHistory, budget: StoredBudget, callers: number): string[] {
  const { holder, tokens, spent, counted, reserved, left } = budget;
  const calls = history.calls.filter(({ id }) => history.holders.get(id) === holder);
  const charged = sum(calls.map((call) => call.charged));
  const inFlight = calls.filter((call) => isInFlight(history, call));
  const allowed = tokens + sum(inFlight.map((call) => call.charged));
  const broken: string[] = [];
  const say = (text: string) => broken.push(`${holder}: ${text}`);
  for (const [what, used] of Object.entries({ charged, spent })) {
    if (used <= allowed) continue;
    say(`${used} tokens ${what}, with a budget of ${tokens} and ${allowed - tokens} in flight`);
  }
  const estimated = sum(left.map((each) => each.counted));
  const unknown = sum(left.map((each) => each.tokens - each.counted));
  if (charged - spent < -estimated || charged - spent > unknown) {
    say(
      `the provider charged ${charged} tokens, but ${spent} are stored (${left.length} calls of killed nodes)`,
    );
  }
  if (counted !== spent) say(`the counter says ${counted}, but ${spent} are stored`);
  const open = left.filter(({ isRecovered }) => !isRecovered);
  if (open.length > 0) say(`${open.length} calls have ended, but are still reserved`);
  if (reserved !== sum(open.map((each) => each.tokens)))
    say(`the counter has ${reserved} reserved`);
  const ofOwner = Map.groupBy(left, ({ owner }) => owner);
  for (const [owner, each] of ofOwner) {
    // A client may have left a call behind whose answer the gateway still read.
    if (each.length > 2 * callers) say(`node ${owner} left ${each.length} reservations behind`);
  }
  return broken;
}

export function checkProbe({ calls }: Pick<BudgetHistory, 'calls'>, probe: Probe): string[] {
  const { holder, id, isGranted, rest, limit } = probe;
  if (!isGranted) {
    return rest < PROMPT_ROOM + SMALL_ANSWER
      ? []
      : [`${holder}: refused a call, but ${rest} tokens are left`];
  }
  if (rest <= 0) return [`${holder}: granted a call, but no tokens are left`];
  const seen = calls.find((call) => call.id === id)?.limit;
  return rest < PROMPT_ROOM + SMALL_ANSWER || seen === limit
    ? []
    : [`${holder}: ${rest} tokens are left, but the answer may have ${seen} instead of ${limit}`];
}

/** Returns whether the usage of the call may not have been stored when its node was killed or paused. */
function isInFlight({ incidents, outages }: BudgetHistory, call: VendorCall): boolean {
  return incidents.some(({ node, from, to }) => {
    if (node !== call.node || call.from > to) return false;
    const recent = outages.filter((each) => each.from <= from && each.to >= from - RETRY_MS);
    const since = Math.min(from, ...recent.map((each) => each.from));
    return call.to >= since - STORE_MS;
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
