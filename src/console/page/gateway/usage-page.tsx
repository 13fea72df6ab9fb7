/** What the workspace has spent, by day: a chart, and the same numbers in a table. */
import { useSignal } from '@preact/signals';
import { useId, useMemo } from 'preact/hooks';
import { cleanLine } from '../../../display/index.ts';
import { PageMessage, Problem } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import type { Server } from '../server/server.ts';
import { UsageAnswer, type UsageItem } from './api.ts';
import { Budgets } from './budgets.tsx';
import { fillAt } from './looks.ts';
import { StackedBars } from './stacked-bars.tsx';
import {
  daysBetween,
  GROUPINGS,
  MAX_SERIES,
  measuresOf,
  seriesOf,
  sumsOf,
  totalOf,
  type Grouping,
  type UsageSum,
} from './usage-data.ts';

const PERIODS: Readonly<Record<string, number>> = {
  'the last 7 days': 7,
  'the last 30 days': 30,
  'the last 90 days': 90,
};
const EVERY_MS = 30_000;

export function SpendingPage({ server }: { readonly server: Server }) {
  const period = useSignal('the last 30 days');
  const grouping = useSignal<Grouping>('model');
  const measure = useSignal('');
  const id = useId();
  const usage = useLoaded(
    (signal) => readUsage(server, grouping.value, PERIODS[period.value] ?? 30, signal),
    [server, grouping.value, period.value],
    { everyMs: EVERY_MS },
  );
  const workspace = cleanLine(server.caller?.workspaceId ?? '');
  return (
    <>
      <h1>Usage of the workspace {workspace}</h1>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice
          id={`${id}-period`}
          label="Period"
          value={period.value}
          options={Object.keys(PERIODS)}
          onChange={(value) => (period.value = value)}
        />
        <Choice
          id={`${id}-group`}
          label="By"
          value={grouping.value}
          options={GROUPINGS}
          onChange={(value) =>
            (grouping.value = GROUPINGS.find((each) => each === value) ?? 'model')
          }
        />
        <Choice
          id={`${id}-measure`}
          label="Show"
          value={measureIn(measure.value, usage.value?.items ?? [])}
          options={measuresOf(usage.value?.items ?? [])}
          onChange={(value) => (measure.value = value)}
        />
      </form>
      {usage.error === undefined ? null : <Problem error={usage.error} onRetry={usage.reload} />}
      {usage.value ? (
        <Shown
          {...usage.value}
          grouping={grouping.value}
          measure={measureIn(measure.value, usage.value.items)}
        />
      ) : null}
      {server.may('keys:write') ? <Budgets server={server} /> : null}
    </>
  );
}

/** Returns the measure that was chosen, if these rows have it. */
function measureIn(chosen: string, rows: readonly UsageItem[]): string {
  const [first = 'tokens', ...others] = measuresOf(rows);
  return others.includes(chosen) ? chosen : first;
}

async function readUsage(server: Server, grouping: Grouping, count: number, signal: AbortSignal) {
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const to = dayOf(Date.now());
  const from = dayOf(Date.now() - (count - 1) * 86_400_000);
  const by = grouping === 'key' ? 'day,key,subject' : `day,model,agent`;
  const items: UsageItem[] = [];
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const query = new URLSearchParams({ by, from, to, offset: String(offset) });
    const page: ReturnType<typeof UsageAnswer.parse> = await server.json(
      UsageAnswer,
      `/a2a/usage?${query}`,
      { signal },
    );
    items.push(...page.items);
    offset = page.next;
  }
  return { from, to, items };
}

interface ShownProps {
  readonly from: string;
  readonly to: string;
  readonly items: readonly UsageItem[];
  readonly grouping: Grouping;
  readonly measure: string;
}

function Shown({ from, to, items, grouping, measure }: ShownProps) {
  const days = useMemo(() => daysBetween(from, to), [from, to]);
  const series = useMemo(
    () => seriesOf(items, days, grouping, measure),
    [items, days, grouping, measure],
  );
  const format = useMemo(() => (value: number) => amount(value, measure), [measure]);
  if (items.length === 0) {
    return (
      <PageMessage title="No usage in this period">
        <p>A call of a model or an agent with a key of this workspace appears here.</p>
      </PageMessage>
    );
  }
  const places = new Map(series.map(({ name }, index) => [name, index]));
  const currencies = [...totalOf(items).cost.keys()].toSorted();
  return (
    <div class="usage">
      <StackedBars
        days={days}
        series={series}
        format={format}
        label={`${measure} by ${grouping} and day. The table has the numbers.`}
      />
      <div class="wide" tabIndex={0} role="region" aria-label="Usage in numbers">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">{grouping}</th>
              <th scope="col">Calls</th>
              <th scope="col">Failures</th>
              <th scope="col">Input tokens</th>
              <th scope="col">Output tokens</th>
              {currencies.map((currency) => (
                <th key={currency} scope="col">
                  {currency}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sumsOf(items, grouping).map((sum) => (
              <SumRow
                key={sum.name}
                sum={sum}
                currencies={currencies}
                place={places.get(sum.name)}
              />
            ))}
          </tbody>
          <tfoot>
            <SumRow sum={totalOf(items)} currencies={currencies} place={undefined} />
          </tfoot>
        </table>
      </div>
    </div>
  );
}

interface SumRowProps {
  readonly sum: UsageSum;
  readonly currencies: readonly string[];
  /** The number of the series in the chart. */
  readonly place: number | undefined;
}

function SumRow({ sum, currencies, place }: SumRowProps) {
  return (
    <tr>
      <th scope="row">
        {sum.name === 'All' && place === undefined ? null : <Swatch place={place ?? MAX_SERIES} />}
        {cleanLine(sum.name)}
      </th>
      <td>{sum.calls.toLocaleString()}</td>
      <td>{sum.failures.toLocaleString()}</td>
      <td>{sum.inputTokens.toLocaleString()}</td>
      <td>{sum.outputTokens.toLocaleString()}</td>
      {currencies.map((currency) => (
        <td key={currency}>{amount(sum.cost.get(currency) ?? 0, `cost ${currency}`)}</td>
      ))}
    </tr>
  );
}

/** The colour and the pattern of a series in the chart. */
function Swatch({ place }: { readonly place: number }) {
  const draw = (canvas: HTMLCanvasElement | null) => {
    const paint = canvas?.getContext('2d');
    if (!canvas || !paint) return;
    paint.fillStyle = fillAt(place, paint);
    paint.fillRect(0, 0, canvas.width, canvas.height);
  };
  return <canvas class="series" width={24} height={14} ref={draw} aria-hidden="true" />;
}

function amount(value: number, measure: string): string {
  const digits = measure.startsWith('cost') ? { maximumFractionDigits: 6 } : {};
  return value.toLocaleString(undefined, digits);
}

interface ChoiceProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}

function Choice({ id, label, value, options, onChange }: ChoiceProps) {
  return (
    <div>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </div>
  );
}
