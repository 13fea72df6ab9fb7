/** The inspector: the card of an agent with checks, and requests to the agent with all that is sent and received. */
import { useComputed } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { cleanLine } from '../../../display/index.ts';
import { ChoiceField, viewsOf, Tabs } from '../parts/lists.tsx';
import { Problem, useLoaded } from '../parts/loading.tsx';
import { goTo, hrefOf, route } from '../server/route.ts';
import type { PageProps, Server } from '../server/server.ts';
import { type AgentAccess, directAccess, relayedAccess } from './agent-access.ts';
import { CardView } from './card-view.tsx';
import { ChecksView } from './checks-view.tsx';
import { ExchangeList } from './exchange-view.tsx';
import { HeaderFields } from './header-fields.tsx';
import { Inspection } from './inspection.ts';
import { NoCard } from './no-card.tsx';
import { TryView } from './try-view.tsx';
import { PageButton } from '../parts/controls.tsx';

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

/** A gateway can inspect only itself and the agents behind it, because it must not fetch any URL for its callers. */
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
