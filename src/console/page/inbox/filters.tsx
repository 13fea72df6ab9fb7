/** The filters of the inbox. They are in the address, except the search, which looks only at what is loaded. */
import { useId, useState } from 'preact/hooks';

const HOUR = 3_600_000;
const TIMES: Readonly<Record<string, readonly [label: string, ms: number]>> = {
  hour: ['the last hour', HOUR],
  day: ['the last 24 hours', 24 * HOUR],
  week: ['the last 7 days', 7 * 24 * HOUR],
};

/** Returns the time since which tasks are listed, or undefined for any time. */
export function sinceOf(time: string): string | undefined {
  const known = Object.hasOwn(TIMES, time) ? TIMES[time] : undefined;
  return known && new Date(Date.now() - known[1]).toISOString();
}

interface Props {
  readonly agents: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly onChange: (changed: Record<string, string>) => void;
  readonly search: string;
  readonly onSearch: (text: string) => void;
  readonly onReload: () => void;
}

export function Filters({ agents, query, onChange, search, onSearch, onReload }: Props) {
  const id = useId();
  const { agent = '', context = '', time = '' } = query;
  // The list changes while a person types, so the text is kept until it is a filter.
  const [typed, setTyped] = useState<string>();
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {agents.length > 1 ? (
        <div>
          <label for={`${id}-agent`}>Agent</label>
          <select
            id={`${id}-agent`}
            value={agent}
            onChange={({ currentTarget }) => onChange({ agent: currentTarget.value })}
          >
            <option value="">all</option>
            {agents.map((name) => (
              <option key={name} value={name === '' ? 'gateway itself' : name}>
                {name === '' ? 'the gateway itself' : name}
              </option>
            ))}
          </select>
        </div>
      ) : null}
      <div>
        <label for={`${id}-context`}>Context</label>
        <input
          id={`${id}-context`}
          type="text"
          placeholder="any"
          spellcheck={false}
          value={typed ?? context}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onChange={({ currentTarget }) => {
            setTyped(undefined);
            onChange({ context: currentTarget.value.trim() });
          }}
        />
      </div>
      <div>
        <label for={`${id}-time`}>Changed in</label>
        <select
          id={`${id}-time`}
          value={time}
          onChange={({ currentTarget }) => onChange({ time: currentTarget.value })}
        >
          <option value="">any time</option>
          {Object.entries(TIMES).map(([name, [label]]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <div class="grows">
        <label for={`${id}-search`}>Search what is loaded</label>
        <input
          id={`${id}-search`}
          type="search"
          value={search}
          onInput={({ currentTarget }) => onSearch(currentTarget.value)}
        />
      </div>
      {agent !== '' || context !== '' || time !== '' ? (
        <button type="button" onClick={() => onChange({ agent: '', context: '', time: '' })}>
          Clear
        </button>
      ) : null}
      <button type="button" onClick={onReload}>
        Refresh
      </button>
    </form>
  );
}
