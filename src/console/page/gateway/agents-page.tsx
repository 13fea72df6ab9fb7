/** Lists the agents behind the gateway, and whether each agent answers. */
import { cleanLine } from '../../../display/index.ts';
import { PageMessage, Problem, useLoaded } from '../parts/loading.tsx';
import { Moment } from '../parts/task-parts.tsx';
import { WideTable } from '../parts/lists.tsx';
import { hrefOf } from '../server/route.ts';
import type { Server } from '../server/server.ts';
import { AgentList } from './api.ts';

const EVERY_MS = 10_000;
const HEALTH = {
  healthy: ['✓ healthy', 'good'],
  unhealthy: ['✗ unhealthy', 'bad'],
  unknown: ['· not checked yet', 'dim'],
} as const;

export function AgentsPage({ server }: { readonly server: Server }) {
  const loaded = useLoaded(
    (signal) => server.json(AgentList, '/a2a/agents', { signal }),
    [server],
    { everyMs: EVERY_MS },
  );
  const agents = loaded.value?.agents;
  return (
    <>
      <h1>Agents</h1>
      {loaded.error === undefined ? null : <Problem error={loaded.error} onRetry={loaded.reload} />}
      {agents?.length === 0 ? (
        <PageMessage title="No agents yet">
          <p>
            Add one to <code>agents</code> in the configuration, or register one with{' '}
            <code>POST /a2a/agents</code>.
          </p>
        </PageMessage>
      ) : null}
      {agents && agents.length > 0 ? (
        <WideTable
          label="Agents"
          columns={['Name', 'Health', 'Since', 'Defined in', 'Skills', 'Tasks']}
        >
          {agents.map(({ name, health, source, skills, description }) => {
            const [word, tone] = HEALTH[health.state];
            return (
              <tr key={name}>
                <th scope="row" title={cleanLine(description)}>
                  {cleanLine(name)}
                </th>
                <td class={`t-${tone}`}>
                  {word}
                  {health.error === undefined ? null : (
                    <div class="dim small">{cleanLine(health.error)}</div>
                  )}
                </td>
                <td>
                  <Moment at={health.since} />
                </td>
                <td>{source === 'config' ? 'the configuration' : 'the API'}</td>
                <td>{skills.map((skill) => cleanLine(skill.name)).join(', ')}</td>
                <td>
                  <a href={hrefOf(['inbox'], { agent: name })}>inbox</a>,{' '}
                  <a href={hrefOf(['inspector', name])}>inspector</a>
                </td>
              </tr>
            );
          })}
        </WideTable>
      ) : null}
    </>
  );
}
