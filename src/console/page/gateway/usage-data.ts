/** Groups the rows of `/a2a/usage` for the chart and the table. */
import type { Server } from '../server/server.ts';
import { UsageAnswer, type UsageItem } from './api.ts';

export const GROUPINGS = ['model', 'key', 'agent', 'workspace'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/**
 * The quantity that the chart shows: `tokens`, `calls`, `failures`, or the cost in one currency, such as `cost USD`.
 */
export type Measure = string;

export interface UsageSum {
  readonly name: string;
  calls: number;
  failures: number;
  inputTokens: number;
  outputTokens: number;
  /** The cost, by currency. */
  readonly cost: Map<string, number>;
}

export interface ChartSeries {
  readonly name: string;
  /** One value for each day. */
  readonly values: readonly number[];
}

/** Maximum number of series that have a colour of their own. Further series are added up and drawn as one series. */
export const MAX_SERIES = 7;

/**
 * Returns a function that names the group of a row. If several keys have the same name, the name of the group also
 * contains the end of the key's id.
 */
function namesOf(rows: readonly UsageItem[], grouping: Grouping): (row: UsageItem) => string {
  if (grouping !== 'key') return (row) => nameOfRow(row, grouping);
  const ids = Map.groupBy(rows, ({ keyName }) => keyName);
  const shared = new Set(
    [...ids].flatMap(([name, all]) =>
      new Set(all.map(({ keyId }) => keyId)).size > 1 ? [name] : [],
    ),
  );
  return ({ keyName, keyId, subject }) =>
    keyName !== undefined && keyId !== undefined && shared.has(keyName)
      ? `${keyName} (…${keyId.slice(-8)})`
      : (keyName ?? keyId ?? subject ?? 'unknown');
}

function nameOfRow(row: UsageItem, grouping: Exclude<Grouping, 'key'>): string {
  if (grouping === 'workspace') return row.workspaceId ?? 'unknown';
  if (grouping === 'agent') return row.agent ?? 'no agent (direct model calls)';
  return row.model ?? (row.agent === undefined ? 'unknown' : `agent ${row.agent}`);
}

/** Returns the sums of each group, sorted by name. */
export function sumsOf(rows: readonly UsageItem[], grouping: Grouping): UsageSum[] {
  const sums = new Map<string, UsageSum>();
  const nameOf = namesOf(rows, grouping);
  for (const row of rows) {
    const name = nameOf(row);
    const sum = sums.get(name) ?? emptySum(name);
    addTo(sum, row);
    sums.set(name, sum);
  }
  return [...sums.values()].toSorted((one, other) => one.name.localeCompare(other.name));
}

/** Returns the sum of all rows. */
export function totalOf(rows: readonly UsageItem[]): UsageSum {
  const total = emptySum('All');
  for (const row of rows) addTo(total, row);
  return total;
}

const COUNTED = ['calls', 'failures', 'inputTokens', 'outputTokens'] as const;

function emptySum(name: string): UsageSum {
  return { name, calls: 0, failures: 0, inputTokens: 0, outputTokens: 0, cost: new Map() };
}

function addTo(sum: UsageSum, row: UsageItem): void {
  for (const each of COUNTED) sum[each] += row[each];
  if (!row.cost) return;
  const { amount, currency } = row.cost;
  sum.cost.set(currency, (sum.cost.get(currency) ?? 0) + amount);
}

/** Returns the measures that can be shown for these rows. Costs come first. */
export function measuresOf(rows: readonly UsageItem[]): readonly Measure[] {
  const currencies = new Set(rows.flatMap(({ cost }) => (cost ? [cost.currency] : [])));
  return [
    ...[...currencies].toSorted().map((each) => `cost ${each}`),
    'tokens',
    'calls',
    'failures',
  ];
}

export function measuredIn(row: UsageItem, measure: Measure): number {
  if (measure === 'tokens') return row.inputTokens + row.outputTokens;
  if (measure === 'calls') return row.calls;
  if (measure === 'failures') return row.failures;
  return row.cost && measure === `cost ${row.cost.currency}` ? row.cost.amount : 0;
}

const DAY_MS = 86_400_000;

/** Returns the day of a time, in UTC. */
export function utcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns the first and the last day of a period of `count` days that ends today, in UTC. */
export function lastDays(count: number, now = Date.now()) {
  return { from: utcDay(now - (count - 1) * DAY_MS), to: utcDay(now) };
}

/** Returns the days from `from` to `to`, but at most 400. The chart needs all of them, also the days without usage. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  const last = Date.parse(to);
  for (let at = Date.parse(from); at <= last && days.length < 400; at += DAY_MS) {
    days.push(utcDay(at));
  }
  return days;
}

/**
 * Returns the series of the chart, the largest first. The series after the first MAX_SERIES are added up in one series.
 */
export function seriesOf(
  rows: readonly UsageItem[],
  days: readonly string[],
  grouping: Grouping,
  measure: Measure,
): ChartSeries[] {
  const place = new Map(days.map((day, index) => [day, index]));
  const found = new Map<string, number[]>();
  const nameOf = namesOf(rows, grouping);
  for (const row of rows) {
    const at = place.get(row.day ?? '');
    if (at === undefined) continue;
    const name = nameOf(row);
    const values = found.get(name) ?? days.map(() => 0);
    values[at] = (values[at] ?? 0) + measuredIn(row, measure);
    found.set(name, values);
  }
  const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const all = [...found]
    .map(([name, values]) => ({ name, values }))
    .toSorted((one, other) => sumOf(other.values) - sumOf(one.values));
  const rest = all.slice(MAX_SERIES);
  if (rest.length === 0) return all;
  const values = days.map((_, at) => sumOf(rest.map((each) => each.values[at] ?? 0)));
  return [...all.slice(0, MAX_SERIES), { name: `${rest.length} others`, values }];
}

/** Maximum number of pages that are read. A chart of more rows would not be readable. */
const MAX_PAGES = 4;

/** Reads the first MAX_PAGES pages of the usage. `isWhole` is false if there are more pages. */
export async function loadUsage(
  server: Server,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly items: readonly UsageItem[]; readonly isWhole: boolean }> {
  const items: UsageItem[] = [];
  let offset: number | undefined = 0;
  for (let page = 0; page < MAX_PAGES && offset !== undefined; page++) {
    const search = new URLSearchParams({ ...query, offset: String(offset) });
    const read: ReturnType<typeof UsageAnswer.parse> = await server.json(
      UsageAnswer,
      `/a2a/usage?${search}`,
      { signal },
    );
    items.push(...read.items);
    offset = read.next;
  }
  return { items, isWhole: offset === undefined };
}

/** Formats a number for display. Costs have up to six decimal places. */
export function amount(value: number, measure: Measure): string {
  const digits = measure.startsWith('cost') ? { maximumFractionDigits: 6 } : {};
  return value.toLocaleString(undefined, digits);
}
