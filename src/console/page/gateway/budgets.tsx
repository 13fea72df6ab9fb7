/**
 * Shows the budgets of the workspace, its keys and its JWT subjects. The spent and the reserved amounts are compared
 * with the limit and with the time that has passed.
 */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { cleanLine } from '../../../display/index.ts';
import { ProblemLine, useLoaded } from '../parts/loading.tsx';
import type { Server } from '../server/server.ts';
import { BudgetList, type ShownBudgetStatus } from './api.ts';
import { curveOf, daysOf, linesOf, passedPart, usedUpOn, type BudgetLine } from './budget-data.ts';
import { Chart, type ChartColours, type ChartPlan } from './chart.tsx';
import { amount, loadUsage } from './usage-data.ts';

const MAX_BUDGETS = 20;
const EVERY_MS = 30_000;
const HEIGHT = 180;

interface Props {
  readonly server: Server;
  readonly workspace: string;
}

export function Budgets({ server, workspace }: Props) {
  const query = new URLSearchParams({ limit: String(MAX_BUDGETS), workspaceId: workspace });
  const budgets = useLoaded(
    (signal) => server.json(BudgetList, `/a2a/budgets?${query}`, { signal }),
    [server, workspace],
    { everyMs: EVERY_MS },
  );
  if (budgets.error !== undefined) return <ProblemLine error={budgets.error} />;
  if (!budgets.value || budgets.value.items.length === 0) return null;
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Budgets</h2>
      <ul class="budgets">
        {budgets.value.items.map((each, at) => (
          <BudgetView
            key={`${each.keyId ?? ''} ${each.subject ?? ''}`}
            server={server}
            workspace={workspace}
            shown={each}
            isFirst={at === 0}
          />
        ))}
      </ul>
      {budgets.value.next === undefined ? null : (
        <p class="dim">Only the first {MAX_BUDGETS} budgets are shown.</p>
      )}
    </section>
  );
}

interface BudgetProps extends Props {
  readonly shown: ShownBudgetStatus;
  readonly isFirst: boolean;
}

function BudgetView({ server, workspace, shown, isFirst }: BudgetProps) {
  const { budget } = shown;
  const open = useSignal(isFirst);
  const now = Date.now();
  const passed = passedPart(shown, now);
  return (
    <li>
      <strong>{nameOf(shown, workspace)}</strong>{' '}
      <span class="dim">
        {budget.period === 'total' ? 'in total' : `per ${budget.period}`}
        {passed === undefined ? '' : `; ${percent(passed)} of this ${budget.period} has passed`}
      </span>
      {linesOf(shown).map((line) => (
        <BudgetBar key={line.unit} line={line} shown={shown} passed={passed} now={now} />
      ))}
      {budget.period === 'day' ? null : (
        <details
          open={open.value}
          onToggle={({ currentTarget }) => (open.value = currentTarget.open)}
        >
          <summary>Over time</summary>
          {open.value ? <OverTime server={server} workspace={workspace} shown={shown} /> : null}
        </details>
      )}
    </li>
  );
}

interface BarProps {
  readonly line: BudgetLine;
  readonly shown: ShownBudgetStatus;
  readonly passed: number | undefined;
  readonly now: number;
}

function BudgetBar({ line, shown, passed, now }: BarProps) {
  const { spent, reserved, limit, unit, measure } = line;
  const usedUp = usedUpOn(shown, line, now);
  const part = Math.min(1, spent / limit);
  return (
    <div class="budget-line">
      <div class="track" aria-hidden="true">
        {spent > 0 ? (
          <span
            class={`span ${spent > limit * (passed ?? 1) ? 'span-person' : 'span-work'}`}
            style={{ left: '0', width: percent(part) }}
          />
        ) : null}
        {reserved > 0 ? (
          <span
            class="span span-reserved"
            style={{ left: percent(part), width: percent(Math.min(1 - part, reserved / limit)) }}
          />
        ) : null}
        {passed === undefined ? null : <span class="passed" style={{ left: percent(passed) }} />}
      </div>
      <span>
        {amount(spent, measure)} of {amount(limit, measure)} {unit} ({percent(spent / limit)})
        {reserved > 0 ? `, ${amount(reserved, measure)} reserved by calls in progress` : ''}
        {usedUp === undefined ? '' : `. At this pace, it is used up on ${usedUp}`}
      </span>
    </div>
  );
}

function OverTime({ server, workspace, shown }: Omit<BudgetProps, 'isFirst'>) {
  const { keyId, subject } = shown;
  const now = Date.now();
  const days = daysOf(shown, now);
  const [from = '', to = ''] = [days[0], days.at(-1)];
  const usage = useLoaded(
    (signal) =>
      loadUsage(
        server,
        {
          by: 'day',
          from,
          to,
          workspaceId: workspace,
          ...(keyId !== undefined && { key: keyId }),
          ...(subject !== undefined && { subject }),
        },
        signal,
      ),
    [server, workspace, keyId, subject, from, to, shown.spent.tokens, shown.spent.amount],
  );
  if (usage.error !== undefined) return <ProblemLine error={usage.error} />;
  const rows = usage.value?.items;
  if (!rows) return <div class="chart" style={{ minHeight: `${HEIGHT}px` }} />;
  return (
    <>
      {linesOf(shown).map((line) => (
        <Curve key={line.unit} line={line} days={days} curve={curveOf(line, rows, days, now)} />
      ))}
    </>
  );
}

interface CurveProps {
  readonly line: BudgetLine;
  readonly days: readonly string[];
  readonly curve: readonly (number | null)[];
}

function Curve({ line, days, curve }: CurveProps) {
  const { limit, reserved, spent, unit, measure } = line;
  const today = curve.findLastIndex((value) => value !== null);
  const plan = useMemo(() => {
    const withReserved = days.map((_, at) => (at === today ? spent + reserved : null));
    const limits = days.map(() => limit);
    const dot = { show: reserved > 0, size: 8, fill: '#d55e00' };
    return ({ accent, line: fill, ink }: ChartColours): ChartPlan => ({
      days,
      format: (value) => amount(value, measure),
      x: [-0.2, days.length - 0.8],
      y: [0, Math.max(limit, spent + reserved) * 1.08],
      series: [
        { values: curve, look: { stroke: accent, width: 2, fill, points: { size: 5 } } },
        { values: limits, look: { stroke: ink, width: 2, dash: [8, 5], points: { show: false } } },
        { values: withReserved, look: { stroke: '#d55e00', width: 2, points: dot } },
      ],
    });
  }, [days, curve, limit, reserved, spent, measure, today]);
  const label =
    `Spending of ${amount(spent, measure)} ${unit} by ${days[today] ?? 'today'}, ` +
    `with a line for the budget of ${amount(limit, measure)} ${unit}`;
  return (
    <figure class="curve">
      <Chart label={label} height={HEIGHT} plan={plan} />
      <figcaption class="dim small">
        Spent in {unit} by the end of each day. The dashed line is the budget.
        {reserved > 0 ? ' The dot above today includes what is reserved.' : ''}
      </figcaption>
    </figure>
  );
}

function nameOf({ keyId, keyName, subject }: ShownBudgetStatus, workspace: string): string {
  if (keyId !== undefined) return cleanLine(keyName ?? keyId);
  return subject === undefined
    ? `The workspace ${cleanLine(workspace)}`
    : `The user ${cleanLine(subject)}`;
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`;
}
