/** The budgets of the keys: what is spent, against the part of the period that has passed. */
import { cleanLine } from '../../../display/index.ts';
import { ProblemLine } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import type { Server } from '../server/server.ts';
import { BudgetAnswer, KeyList, type ShownBudget } from './api.ts';

/** Number of budgets that are shown. Each needs a request. */
const MAX_BUDGETS = 20;
const DAY_MS = 86_400_000;

interface BudgetOfKey {
  readonly id: string;
  readonly name: string;
  readonly budget: ShownBudget;
  readonly spent: { readonly tokens: number; readonly amount: number };
  readonly resetsAt: string | undefined;
}

export function Budgets({ server }: { readonly server: Server }) {
  const budgets = useLoaded((signal) => readBudgets(server, signal), [server]);
  if (budgets.error !== undefined) return <ProblemLine error={budgets.error} />;
  if (!budgets.value || budgets.value.length === 0) return null;
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Budgets of keys</h2>
      <ul class="budgets">
        {budgets.value.map((each) => (
          <BudgetView key={each.id} shown={each} />
        ))}
      </ul>
    </section>
  );
}

async function readBudgets(server: Server, signal: AbortSignal): Promise<BudgetOfKey[]> {
  const { items } = await server.json(KeyList, '/a2a/keys?limit=100', { signal });
  const limited = items.filter(({ budget, status }) => budget && status === 'active');
  const found = await Promise.all(
    limited.slice(0, MAX_BUDGETS).map(async ({ id, name }) => {
      const path = `/a2a/keys/${encodeURIComponent(id)}/usage?limit=1`;
      const { budget, spent, resetsAt } = await server.json(BudgetAnswer, path, { signal });
      const none = { tokens: 0, amount: 0 };
      return budget ? [{ id, name, budget, spent: spent ?? none, resetsAt }] : [];
    }),
  );
  return found.flat();
}

function BudgetView({ shown }: { readonly shown: BudgetOfKey }) {
  const { name, budget, spent, resetsAt } = shown;
  const passed = passedPart(budget.period, resetsAt, Date.now());
  const lines = [
    ...(budget.tokens === undefined
      ? []
      : [{ used: spent.tokens, limit: budget.tokens, unit: 'tokens' }]),
    ...(budget.amount === undefined
      ? []
      : [{ used: spent.amount, limit: budget.amount, unit: budget.currency ?? '' }]),
  ];
  return (
    <li>
      <strong>{cleanLine(name)}</strong>{' '}
      <span class="dim">
        {budget.period === 'total' ? 'in total' : `each ${budget.period}`}
        {passed === undefined ? '' : `, of which ${percent(passed)} has passed`}
      </span>
      {lines.map(({ used, limit, unit }) => (
        <div key={unit} class="budget-line">
          <div class="track">
            <span
              class={`span ${used > limit * (passed ?? 1) ? 'span-person' : 'span-work'}`}
              style={{ left: '0', width: percent(Math.min(1, used / limit)) }}
            />
            {passed === undefined ? null : (
              <span class="passed" style={{ left: percent(passed) }} />
            )}
          </div>
          <span>
            {used.toLocaleString(undefined, { maximumFractionDigits: 6 })} of{' '}
            {limit.toLocaleString()} {unit} ({percent(used / limit)})
          </span>
        </div>
      ))}
    </li>
  );
}

/** Returns the part of the period that has passed, or undefined if the budget has no period. */
function passedPart(
  period: ShownBudget['period'],
  resetsAt: string | undefined,
  now: number,
): number | undefined {
  if (period === 'total' || resetsAt === undefined) return undefined;
  const end = new Date(resetsAt);
  const start =
    period === 'day'
      ? end.getTime() - DAY_MS
      : Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1);
  return Math.min(1, Math.max(0, (now - start) / (end.getTime() - start)));
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`;
}
