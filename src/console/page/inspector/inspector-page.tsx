/**
 * The inspector. It shows the card of an agent, the results of the checks, and everything that is sent to the agent and
 * received from it. A person can also send requests to the agent.
 */
import { useComputed } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { reasonOf } from '../../../base/index.ts';
import { ConnectionError } from '../../../client/index.ts';
import { type AgentAccess, directAccess, relayedAccess } from './agent-access.ts';
import { CardView } from './card-view.tsx';
import { ChecksView } from './checks-view.tsx';
import { ExchangeList } from './exchange-view.tsx';
import { HeaderFields } from './header-fields.tsx';
import { Inspection } from './inspection.ts';
import { TryView } from './try-view.tsx';
import { PageButton } from '../parts/controls.tsx';
import { ChoiceField, viewsOf, Tabs } from '../parts/lists.tsx';
import { Problem, useLoaded, PageMessage } from '../parts/loading.tsx';
import { goTo, hrefOf, route } from '../server/route.ts';
import type { PageProps, Server } from '../server/server.ts';
import { cleanLine, clean } from '../../../display/index.ts';
import { A2AError } from '../../../protocol/index.ts';

const VIEWS = { card: 'Card', checks: 'Checks', try: 'Send', requests: 'Requests' };

/** `path` contains the name of an agent behind the gateway, or is empty for the server itself. */
export function InspectorPage({ server, path: [agent = ''] }: PageProps) {
  return (
    <div class="inspector">
      <h1>Inspector</h1>
      {server.kind === 'gateway' ? <AgentChoice server={server} agent={agent} /> : null}
      {server.kind === 'inspector' ? (
        <Relayed server={server} />
      ) : (
        <Direct key={agent} server={server} agent={agent} />
      )}
    </div>
  );
}

function Direct({ server, agent }: { readonly server: Server; readonly agent: string }) {
  const access = useMemo(() => directAccess(server, agent), [server, agent]);
  return <Inspected access={access} agent={agent} />;
}

function Relayed({ server }: { readonly server: Server }) {
  const access = useLoaded(() => relayedAccess(server), [server]);
  if (access.error !== undefined) return <Problem error={access.error} onRetry={access.reload} />;
  return access.value ? <Inspected access={access.value} agent="" /> : null;
}

/**
 * Chooses the gateway itself or an agent behind it. No other agent can be chosen, because a gateway must not fetch
 * arbitrary URLs for its callers.
 */
function AgentChoice({ server, agent }: { readonly server: Server; readonly agent: string }) {
  const loaded = useLoaded((signal) => server.agentNames(signal), [server]);
  const names = new Set([...(loaded.value ?? []), ...(agent === '' ? [] : [agent])]);
  return (
    <div class="filters">
      <ChoiceField
        label="Agent"
        value={agent}
        options={[
          ['', 'This gateway'],
          ...[...names].map((name) => [name, cleanLine(name)] as const),
        ]}
        onChange={(value) => goTo(hrefOf(pathTo(value)))}
      />
    </div>
  );
}

/** Returns the path of this page for an agent. */
function pathTo(agent: string): string[] {
  return agent === '' ? ['inspector'] : ['inspector', agent];
}

function Inspected({ access, agent }: { readonly access: AgentAccess; readonly agent: string }) {
  const inspection = useMemo(() => new Inspection(access), [access]);
  useEffect(() => void inspection.inspect(), [inspection]);
  const { view: wanted } = route.value.query;
  const view = viewsOf(VIEWS).find((each) => each === wanted) ?? 'card';
  const problems = useComputed(
    () => inspection.checks.value.filter(({ status }) => status !== 'ok').length,
  );
  const counts: Partial<Record<keyof typeof VIEWS, number>> = {
    checks: problems.value,
    requests: inspection.log.all.value.length,
  };
  const hasCard = inspection.card !== undefined;
  return (
    <>
      <div class="inspected">
        <span class="mono">{cleanLine(access.address)}</span>
        <PageButton disabled={inspection.busy} onClick={() => void inspection.inspect()}>
          Check again
        </PageButton>
        <span class="dim" role="status">
          {inspection.busy.value ? 'Asking the agent…' : ''}
        </span>
      </div>
      <HeaderFields inspection={inspection} />
      <Tabs
        label="Views of the agent"
        titles={VIEWS}
        current={view}
        hrefFor={(each) => hrefOf(pathTo(agent), { view: each })}
        countOf={(each) => (counts[each] ? String(counts[each]) : '')}
      />
      {view === 'requests' ? (
        <ExchangeList inspection={inspection} />
      ) : inspection.error.value !== undefined && !hasCard ? (
        <NoCard error={inspection.error.value} />
      ) : view === 'card' ? (
        <CardView inspection={inspection} />
      ) : view === 'checks' ? (
        <ChecksView inspection={inspection} />
      ) : (
        <TryView inspection={inspection} />
      )}
    </>
  );
}

/** Shown if the agent's card cannot be read. Names the problem, its reason and a fix. */
function NoCard({ error }: { readonly error: unknown }) {
  const { title, fix } = explain(error);
  return (
    <PageMessage title={title} role="alert">
      <p class="said">{clean(reasonOf(error))}</p>
      <p>{fix}</p>
      <p>
        <a href={hrefOf(route.value.path, { view: 'requests' })}>See what was sent and received</a>
      </p>
    </PageMessage>
  );
}

interface Explained {
  readonly title: string;
  readonly fix: string;
}

const CREDENTIALS: Explained = {
  title: 'The agent requires credentials',
  fix: 'Enter a token or another header under “Headers”. A card should be readable without credentials, because it tells clients which credentials they need.',
};
const BUSY: Explained = { title: 'The agent is busy', fix: 'Wait a moment, then check again.' };

const REFUSALS: Partial<Record<A2AError['kind'], Explained>> = {
  unauthenticated: CREDENTIALS,
  forbidden: CREDENTIALS,
  rateLimited: BUSY,
  unavailable: BUSY,
};

const FAILURES: Partial<Record<ConnectionError['reason'], Explained>> = {
  card: {
    title: 'There is no agent card at this address',
    fix: 'Check the address. Serve the card at /.well-known/agent-card.json, as application/json.',
  },
  redirect: {
    title: 'The address redirects',
    fix: 'If you trust the other address, inspect that one.',
  },
  timeout: {
    title: 'The agent does not answer in time',
    fix: 'Check that it is not overloaded.',
  },
  untrusted: {
    title: 'Requests to this address are not allowed',
    fix: 'To inspect this address, start parley inspect with it.',
  },
};

function explain(error: unknown): Explained {
  if (error instanceof ConnectionError) {
    const title = 'The agent cannot be reached';
    const fix = 'Check the address, and that the agent is running.';
    return FAILURES[error.reason] ?? { title, fix };
  }
  const title = 'The card cannot be read';
  if (!(error instanceof A2AError)) return { title, fix: 'See the requests for the details.' };
  const fix = 'Compare the card with the AgentCard object of the specification.';
  return REFUSALS[error.kind] ?? { title, fix };
}
