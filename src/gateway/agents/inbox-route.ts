/** The HTTP route that programs poll to learn whether a task of the gateway or of its agents has changed. */
import * as z from 'zod';
import { defined } from '../../base/index.ts';
import { NO_STORE } from '../../http/index.ts';
import { type Call, TaskState } from '../../protocol/index.ts';
import { callWith, type RequestHandler } from '../../tasks/index.ts';
import type { Agents } from './agents.ts';
import type { Caller } from '../api/caller.ts';
import { TrueOrFalse } from '../api/fields.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';

/** Maximum number of agents in one response. Each agent needs at least one query of the task store. */
const MAX_AGENTS = 32;
const MAX_NAMES_CHARS = 4096;
const MAX_ID_CHARS = 1024;

/** The states that a stored task can have. */
const STATES = TaskState.options.filter((state) => state !== 'unknown' && state !== 'unspecified');

const Query = z.object({
  agents: z
    .string()
    .max(MAX_NAMES_CHARS)
    .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))])
    .refine((names) => names.length <= MAX_AGENTS, `at most ${MAX_AGENTS} agents`)
    .optional()
    .describe(
      `Names of agents, separated by commas; an empty name is the gateway itself. Default: the gateway and its first agents, ${MAX_AGENTS} in all`,
    ),
  contextId: z.string().max(MAX_ID_CHARS).optional().describe('Only tasks of this context'),
  since: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('Only tasks whose state has changed since this time'),
  states: TrueOrFalse.describe('If true, the response has the number of tasks in each state'),
});
type Filter = Pick<z.infer<typeof Query>, 'contextId' | 'since' | 'states'>;

const Latest = z.object({
  agent: z.string().describe('The name of the agent. Empty for the gateway itself'),
  total: z.int().describe('The number of tasks'),
  latest: z
    .object({ id: z.string(), state: z.string(), changedAt: z.string().optional() })
    .optional()
    .describe('The task whose state changed last. Missing if there is no task'),
  states: z
    .record(z.string(), z.int())
    .optional()
    .describe('The number of tasks in each state that has tasks'),
});

export function inboxRoute({ agents }: { readonly agents: Agents }): GatewayRoute {
  /**
   * Returns the names of agents that the caller asked for. An empty name stands for the gateway itself. Throws if one
   * of the agents does not exist, or if the caller may not see the tasks of one of them. If `asked` is undefined,
   * returns up to MAX_AGENTS agents whose tasks the caller may see.
   */
  function namesFor(caller: Caller, asked: readonly string[] | undefined): readonly string[] {
    if (!asked) {
      const own = caller.may('tasks:read') ? [''] : [];
      const behind = caller.may('agents:use') ? agents.list(caller.workspace) : [];
      return [...own, ...behind.map(({ name }) => name)].slice(0, MAX_AGENTS);
    }
    for (const name of asked) {
      caller.need(name === '' ? 'tasks:read' : 'agents:use');
      if (name !== '') agents.need(caller.workspace, name);
    }
    return asked;
  }

  return defineRoute({
    verb: 'GET',
    path: '/a2a/inbox',
    scope: 'any',
    summary: 'For the gateway and each agent: the number of tasks, and the task that changed last',
    detail:
      'For a program that shows tasks: if the response is the same as before, no task was added or removed, and none has changed its state. The tasks of the gateway itself need the scope tasks:read. The tasks of agents need the scope agents:use.',
    query: Query,
    answers: {
      200: {
        description: 'In the order of `agents`',
        schema: z.object({ items: z.array(Latest) }),
      },
    },
    async handle({ caller, query, call, handler }) {
      const items: z.infer<typeof Latest>[] = [];
      for (const agent of namesFor(caller, query.agents)) {
        const user = caller.atAgent(agent);
        items.push({ agent, ...(await latestOf(handler, callWith(call, { user }), query)) });
      }
      return { headers: NO_STORE, body: { items } };
    },
  });
}

async function latestOf(
  handler: RequestHandler,
  call: Call,
  { contextId, since, states }: Filter,
): Promise<Omit<z.infer<typeof Latest>, 'agent'>> {
  const filter = { pageSize: 1, ...defined({ contextId, statusTimestampAfter: since }) };
  const { tasks, totalSize: total } = await handler.listTasks(filter, call);
  const [newest] = tasks;
  if (!newest) return { total, ...(states === 'true' && { states: {} }) };
  const { state, timestamp } = newest.status;
  const latest = { id: newest.id, state, ...defined({ changedAt: timestamp }) };
  if (states !== 'true') return { total, latest };
  const counts: Record<string, number> = {};
  for (const status of STATES) {
    const { totalSize } = await handler.listTasks({ ...filter, status }, call);
    if (totalSize > 0) counts[status] = totalSize;
  }
  return { total, latest, states: counts };
}
