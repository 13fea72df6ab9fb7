/** The inbox. It lists the tasks of this server in three groups: needing a person, running, and ended. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { GROUP_NAMES, type Group, type InboxTask } from './merged-tasks.ts';
import { TaskRow } from './task-row.tsx';
import { useInbox, useOpenings, type InboxState } from './use-inbox.ts';
import { PageButton, Form, TextField } from '../parts/controls.tsx';
import { Tabs, ChoiceField, FilterButtons, TextFilter } from '../parts/lists.tsx';
import { PageMessage, Problem, ProblemLine, useLoaded } from '../parts/loading.tsx';
import { goTo, hrefOf, replacePlace, route } from '../server/route.ts';
import type { PageProps, Server } from '../server/server.ts';
import { A2AError } from '../../../protocol/index.ts';

const TITLES: Readonly<Record<Group, string>> = {
  'needs-you': 'Needs you',
  running: 'Running',
  done: 'Done',
};
const NOTHING: Readonly<Record<Group, string>> = {
  'needs-you': 'Nothing needs you.',
  running: 'Nothing is running.',
  done: 'No task has ended yet.',
};
/** Maximum number of agents whose tasks are listed together. */
const MAX_AGENTS = 20;

export function InboxPage({ server, path }: PageProps) {
  const agents = useLoaded(async (signal) => agentsOf(server, signal), [server]);
  const { value, error, reload } = agents;
  return (
    <>
      <h1>Inbox</h1>
      {value ? <InboxOf server={server} path={path} agents={value} onAgentGone={reload} /> : null}
      {value || error === undefined ? null : <Problem error={error} onRetry={reload} />}
    </>
  );
}

/** Returns the names of the agents whose tasks this key may see. The empty name stands for the server itself. */
async function agentsOf(server: Server, signal: AbortSignal): Promise<readonly string[]> {
  const own = server.may('tasks:read') ? [''] : [];
  return server.kind === 'gateway' ? [...own, ...(await server.agentNames(signal))] : own;
}

interface InboxProps extends PageProps {
  readonly agents: readonly string[];
  /** Called if one of the agents does not exist any more. */
  readonly onAgentGone: () => void;
}

function InboxOf({ server, path, agents, onAgentGone }: InboxProps) {
  const place = route.value;
  const { query } = place;
  const { agent, context = '', time = '' } = query;
  const search = useSignal('');
  const since = useMemo(() => sinceOf(time), [time]);
  const filter = {
    agents: agent === undefined ? agents.slice(0, MAX_AGENTS) : [nameOf(agent)],
    contextId: context === '' ? undefined : context,
    since,
  };
  const chosen = GROUP_NAMES.find((each) => each === path[0]);
  const inbox = useInbox(server, chosen, filter);
  const { counts, tasks, error } = inbox;
  const filtered = agent !== undefined || context !== '' || time !== '';

  useEffect(() => {
    if (error instanceof A2AError && error.httpStatus === 404) onAgentGone();
  }, [error, onAgentGone]);

  // If the person has not chosen a group, the page shows the first group that has tasks.
  useEffect(() => {
    if (chosen !== undefined || !counts) return;
    const first = GROUP_NAMES.find((each) => counts[each] > 0) ?? 'needs-you';
    replacePlace(place, hrefOf(['inbox', first], query));
  }, [chosen, counts, query, place]);

  const openings = useOpenings(server, tasks ?? []);
  const shown = (tasks ?? []).filter((listed) => matches(listed, openings, search.value));
  const isEmpty = counts && GROUP_NAMES.every((each) => counts[each] === 0);
  const setQuery = (changed: Record<string, string>) =>
    goTo(hrefOf(path.length === 0 ? ['inbox'] : ['inbox', ...path], { ...query, ...changed }));

  if (error !== undefined && !tasks) return <Problem error={error} onRetry={inbox.reload} />;
  if (isEmpty === true && !filtered) return <EmptyServer server={server} />;
  return (
    <>
      <Tabs
        label="Groups of tasks"
        titles={TITLES}
        current={chosen}
        hrefFor={(each) => hrefOf(['inbox', each], query)}
        countOf={(each) => counts?.[each].toLocaleString() ?? '…'}
      />
      <Filters
        agents={agents}
        query={query}
        onChange={setQuery}
        search={search}
        onReload={inbox.reload}
      />
      {agent === undefined && agents.length > MAX_AGENTS ? (
        <p class="dim small">
          The tasks of {MAX_AGENTS} of {agents.length} agents are shown. Choose an agent to see its
          tasks.
        </p>
      ) : null}
      {error === undefined ? null : <ProblemLine error={error} />}
      {inbox.outdated ? (
        <p class="dim" role="status">
          Tasks have changed since this list was loaded.{' '}
          <PageButton class="quiet-link" onClick={inbox.reload}>
            Load the newest
          </PageButton>
        </p>
      ) : null}
      <ul class="task-list" aria-busy={inbox.loading}>
        {shown.map((listed) => (
          <TaskRow
            key={`${listed.agent} ${listed.task.id}`}
            server={server}
            listed={listed}
            opening={openings.get(listed.task.id)}
            showsAgent={agents.length > 1}
            onChange={inbox.reload}
            onContext={(contextId) => setQuery({ context: contextId })}
          />
        ))}
      </ul>
      {tasks ? (
        <Foot
          inbox={inbox}
          shown={shown.length}
          nothing={filtered ? 'No task matches the filters.' : NOTHING[chosen ?? 'needs-you']}
        />
      ) : null}
    </>
  );
}

interface FootProps {
  readonly inbox: InboxState;
  readonly shown: number;
  readonly nothing: string;
}

function Foot({ inbox, shown, nothing }: FootProps) {
  const { tasks = [], total, more, loading, loadMore } = inbox;
  if (tasks.length === 0) return <p class="nothing dim">{nothing}</p>;
  return (
    <div class="foot">
      {shown < tasks.length ? (
        <p class="dim">
          {shown === 0
            ? `None of the ${tasks.length} loaded tasks matches the search.`
            : `${shown} of the ${tasks.length} loaded tasks match the search.`}
        </p>
      ) : null}
      {more ? (
        <PageButton class="more" disabled={loading} onClick={loadMore}>
          Load more ({tasks.length.toLocaleString()} of {total.toLocaleString()} loaded)
        </PageButton>
      ) : null}
    </div>
  );
}

function EmptyServer({ server }: { readonly server: Server }) {
  const header = server.key === undefined ? '' : ' --token KEY';
  return (
    <PageMessage title="No tasks yet">
      <p>Send a message to this {server.kind}, and its task appears here:</p>
      <pre class="code">
        <code>{`parley send ${server.url} "Hello"${header}`}</code>
      </pre>
      {server.kind === 'agent' ? (
        <p>
          Or write to the agent in the <a href={hrefOf(['conversation'])}>conversation</a>.
        </p>
      ) : (
        <p>
          Calls of the vendors' APIs (/v1/…) are not tasks
          {server.may('audit:read') ? (
            <>
              : see <a href={hrefOf(['usage'])}>Usage</a>
            </>
          ) : null}
          .
        </p>
      )}
    </PageMessage>
  );
}

/** Returns the name of the agent for the filter `agent` in the address. The gateway itself has the empty name. */
function nameOf(agent: string): string {
  return agent === 'gateway itself' ? '' : agent;
}

function matches(
  { agent, task }: InboxTask,
  openings: ReadonlyMap<string, string>,
  search: string,
): boolean {
  const words = search.trim().toLowerCase();
  if (words === '') return true;
  const said = JSON.stringify(task.status.message?.parts ?? '');
  const all = [openings.get(task.id) ?? '', said, task.id, task.contextId, agent];
  return all.some((text) => text.toLowerCase().includes(words));
}

const HOUR = 3_600_000;
const TIMES: Readonly<Record<string, readonly [label: string, ms: number]>> = {
  hour: ['the last hour', HOUR],
  day: ['the last 24 hours', 24 * HOUR],
  week: ['the last 7 days', 7 * 24 * HOUR],
};

/** Returns the start of the chosen time range, or undefined if no range is chosen. */
function sinceOf(time: string): string | undefined {
  const known = Object.hasOwn(TIMES, time) ? TIMES[time] : undefined;
  return known && new Date(Date.now() - known[1]).toISOString();
}

interface FiltersProps {
  readonly agents: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly onChange: (changed: Record<string, string>) => void;
  /** The text that a task must contain to be listed. */
  readonly search: Signal<string>;
  readonly onReload: () => void;
}

/** The filters. All except the search are in the page's address. The search covers only loaded tasks. */
function Filters({ agents, query, onChange, search, onReload }: FiltersProps) {
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
