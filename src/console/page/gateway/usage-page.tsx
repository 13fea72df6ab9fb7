/** The usage and the cost of a workspace: a chart by day, a table with the sums of the period, and the budgets. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { cleanLine } from '../../../display/index.ts';
import { ChoiceField, WideTable } from '../parts/lists.tsx';
import { Form } from '../parts/controls.tsx';
import { PageMessage, Problem, useLoaded } from '../parts/loading.tsx';
import type { Server } from '../server/server.ts';
import type { UsageItem } from './api.ts';
import { Budgets } from './budgets.tsx';
import { fillAt, StackedBars } from './chart.tsx';
import {
  amount,
  daysBetween,
  lastDays,
  GROUPINGS,
  MAX_SERIES,
  measuresOf,
  loadUsage,
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
const MAX_DAYS = 90;
const EVERY_MS = 30_000;
/** The parameter `by` of `/a2a/usage` for each grouping. */
const DIMENSIONS: Readonly<Record<Grouping, string>> = {
  model: 'day,model,agent',
  key: 'day,key,subject',
  agent: 'day,model,agent',
  workspace: 'day,workspace',
};

/** The value for all workspaces, on this page and in the API. */
const ALL = '*';

export function SpendingPage({ server }: { readonly server: Server }) {
  const own = server.caller?.workspaceId ?? '';
  const period = useSignal('the last 30 days');
  const chosen = useSignal<Grouping>('model');
  const workspace = useSignal(own);
  const measure = useSignal('');
  const grouping = chosen.value === 'workspace' && workspace.value !== ALL ? 'model' : chosen.value;
  const range = lastDays(PERIODS[period.value] ?? 30);
  const usage = useLoaded(
    async (signal) => ({
      ...range,
      ...(await loadUsage(
        server,
        { ...range, by: DIMENSIONS[grouping], workspaceId: workspace.value },
        signal,
      )),
    }),
    [server, grouping, range.from, workspace.value],
    { everyMs: EVERY_MS },
  );
  const items = usage.value?.items ?? [];
  const where =
    workspace.value === ALL ? 'all workspaces' : `the workspace ${cleanLine(workspace.value)}`;
  return (
    <>
      <h1>Usage of {where}</h1>
      <Form class="filters">
        {server.caller?.allWorkspaces === true ? (
          <WorkspaceChoice
            server={server}
            own={own}
            value={workspace.value}
            onChange={(value) => {
              workspace.value = value;
              if (value === ALL) chosen.value = 'workspace';
            }}
          />
        ) : null}
        <ChoiceField
          label="Period"
          value={period.value}
          options={Object.keys(PERIODS)}
          onChange={(value) => (period.value = value)}
        />
        <ChoiceField
          label="By"
          value={grouping}
          options={GROUPINGS.filter((each) => each !== 'workspace' || workspace.value === ALL)}
          onChange={(value) => (chosen.value = GROUPINGS.find((each) => each === value) ?? 'model')}
        />
        <ChoiceField
          label="Show"
          value={measureIn(measure.value, items)}
          options={measuresOf(items)}
          onChange={(value) => (measure.value = value)}
        />
      </Form>
      {usage.error === undefined ? null : <Problem error={usage.error} onRetry={usage.reload} />}
      {usage.value ? (
        <Shown {...usage.value} grouping={grouping} measure={measureIn(measure.value, items)} />
      ) : null}
      {workspace.value === ALL ? null : <Budgets server={server} workspace={workspace.value} />}
    </>
  );
}

interface WorkspaceProps {
  readonly server: Server;
  readonly own: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Lets operators choose their own workspace, a workspace with usage in the last MAX_DAYS days, or all workspaces. */
function WorkspaceChoice({ server, own, value, onChange }: WorkspaceProps) {
  const found = useLoaded(
    (signal) => loadUsage(server, { ...lastDays(MAX_DAYS), by: 'workspace' }, signal),
    [server],
  );
  const names = new Set((found.value?.items ?? []).map(({ workspaceId = '' }) => workspaceId));
  names.delete(own);
  return (
    <ChoiceField
      label="Workspace"
      value={value}
      options={[own, [ALL, 'all workspaces'], ...names]}
      onChange={onChange}
    />
  );
}

/** Returns the chosen measure. If these rows do not have this measure, returns their first measure. */
function measureIn(chosen: string, rows: readonly UsageItem[]): string {
  const [first = 'tokens', ...others] = measuresOf(rows);
  return others.includes(chosen) ? chosen : first;
}

interface ShownProps {
  readonly from: string;
  readonly to: string;
  readonly items: readonly UsageItem[];
  readonly isWhole: boolean;
  readonly grouping: Grouping;
  readonly measure: string;
}

function Shown({ from, to, items, isWhole, grouping, measure }: ShownProps) {
  const days = useMemo(() => daysBetween(from, to), [from, to]);
  const series = useMemo(
    () => seriesOf(items, days, grouping, measure),
    [items, days, grouping, measure],
  );
  const format = useMemo(() => (value: number) => amount(value, measure), [measure]);
  if (items.length === 0) {
    return (
      <PageMessage title="No usage in this period">
        <p>Calls to models and agents appear here.</p>
      </PageMessage>
    );
  }
  const places = new Map(series.map(({ name }, index) => [name, index]));
  const currencies = [...totalOf(items).cost.keys()].toSorted();
  return (
    <div class="usage">
      {isWhole ? null : (
        <p class="problem-line" role="status">
          <strong>This is not the whole usage.</strong> Only the newest{' '}
          {items.length.toLocaleString()} rows are shown. Choose a shorter period, or group by
          something else.
        </p>
      )}
      <StackedBars
        days={days}
        series={series}
        format={format}
        label={`${measure} by ${grouping} and day. The table has the numbers.`}
      />
      <WideTable
        label="Usage in numbers"
        columns={[grouping, 'Calls', 'Failures', 'Input tokens', 'Output tokens', ...currencies]}
        foot={<SumRow sum={totalOf(items)} currencies={currencies} place={undefined} />}
      >
        {sumsOf(items, grouping).map((sum) => (
          <SumRow key={sum.name} sum={sum} currencies={currencies} place={places.get(sum.name)} />
        ))}
      </WideTable>
    </div>
  );
}

interface SumRowProps {
  readonly sum: UsageSum;
  readonly currencies: readonly string[];
  /** The index of the series in the chart. Undefined if the row has no series of its own. */
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
