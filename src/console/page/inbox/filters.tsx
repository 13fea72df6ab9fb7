/** The filters of the inbox. All except the search are in the page's address. The search covers only loaded tasks. */
import type { Signal } from '@preact/signals';
import { Form, TextField } from '../parts/controls.tsx';
import { ChoiceField, FilterButtons, TextFilter } from '../parts/lists.tsx';

const HOUR = 3_600_000;
const TIMES: Readonly<Record<string, readonly [label: string, ms: number]>> = {
  hour: ['the last hour', HOUR],
  day: ['the last 24 hours', 24 * HOUR],
  week: ['the last 7 days', 7 * 24 * HOUR],
};

/** Returns the start of the chosen time range, or undefined if no range is chosen. */
export function sinceOf(time: string): string | undefined {
  const known = Object.hasOwn(TIMES, time) ? TIMES[time] : undefined;
  return known && new Date(Date.now() - known[1]).toISOString();
}

interface Props {
  readonly agents: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly onChange: (changed: Record<string, string>) => void;
  /** The text that a task must contain to be listed. */
  readonly search: Signal<string>;
  readonly onReload: () => void;
}

export function Filters({ agents, query, onChange, search, onReload }: Props) {
  const { agent = '', context = '', time = '' } = query;
  const names = agents.map((name) =>
    name === '' ? (['gateway itself', 'the gateway itself'] as const) : name,
  );
  return (
    <Form class="filters">
      {agents.length > 1 ? (
        <ChoiceField
          label="Agent"
          value={agent}
          options={[['', 'all'], ...names]}
          onChange={(value) => onChange({ agent: value })}
        />
      ) : null}
      <TextFilter
        label="Context"
        value={context}
        onChange={(value) => onChange({ context: value })}
      />
      <ChoiceField
        label="Changed in"
        value={time}
        options={[
          ['', 'any time'],
          ...Object.entries(TIMES).map(([name, [label]]) => [name, label] as const),
        ]}
        onChange={(value) => onChange({ time: value })}
      />
      <TextField box="grows" type="search" label="Search what is loaded" text={search} />
      <FilterButtons
        isFiltered={agent !== '' || context !== '' || time !== ''}
        onClear={() => onChange({ agent: '', context: '', time: '' })}
        onReload={onReload}
      />
    </Form>
  );
}
