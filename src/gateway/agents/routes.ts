/**
 * The HTTP routes under `/a2a/agents`. They list the agents that a workspace may use, and manage the agents that the
 * workspace registered.
 */
import { defined } from '../../base/index.ts';
import * as z from 'zod';
import { TrueOrFalse } from '../api/fields.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import type { Agents } from './agents.ts';
import { AgentInput, AgentName } from './config.ts';
import { Health, type RemoteAgent } from './remote.ts';

const AgentView = z.object({
  name: z.string(),
  source: z
    .enum(['config', 'api'])
    .describe(
      'Where the agent is defined. An agent from the configuration cannot be changed with the API',
    ),
  path: z.string().describe("The agent's path, relative to the gateway's address"),
  description: z.string(),
  version: z.string().optional(),
  tags: z.array(z.string()),
  skills: z.array(z.looseObject({ id: z.string(), name: z.string(), description: z.string() })),
  health: Health,
  url: z
    .string()
    .optional()
    .describe("The agent's address, if this workspace registered the agent"),
  headerNames: z
    .array(z.string())
    .optional()
    .describe('The names of the headers. Their values are never shown'),
  ...AgentInput.pick({ allowOrigins: true, deduplicates: true, limits: true, timeoutMs: true })
    .shape,
});
type AgentView = z.infer<typeof AgentView>;

const Created = AgentInput.extend({ name: AgentName });
const Query = z.object({
  verify: TrueOrFalse.describe("If false, the agent's card is not fetched first"),
});

export function agentRoutes({ agents }: { readonly agents: Agents }): GatewayRoute[] {
  return [
    defineRoute({
      verb: 'GET',
      path: '/a2a/agents',
      scope: 'agents:use',
      summary: 'The agents that this workspace may use, with their health',
      answers: {
        200: { description: 'Sorted by name', schema: z.object({ agents: z.array(AgentView) }) },
      },
      handle: async ({ caller }) => ({
        body: { agents: agents.list(caller.workspace).map(viewOf) },
      }),
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/agents',
      scope: 'agents:write',
      resource: 'agent',
      summary: 'Registers an agent in this workspace',
      detail:
        "The agent's card is fetched first. The agent's address must be in a public network, or in a network that the operator allowed. Headers are stored encrypted and never shown.",
      query: Query,
      body: Created,
      answers: {
        201: { description: 'The agent', schema: AgentView },
        400: { description: 'The input is invalid' },
        409: {
          description:
            'An agent with this name already exists, or the workspace has too many agents',
        },
        502: { description: "The agent's card could not be fetched" },
      },
      async handle({ body: { name, ...input }, caller, query }) {
        const verify = query.verify !== 'false';
        const { workspace, actor } = caller;
        const agent = await agents.put({ workspace, actor, name, input, create: true, verify });
        const headers = { location: `/a2a/agents/${name}` };
        return { status: 201, headers, body: viewOf(agent) };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/agents/{name}',
      scope: 'agents:use',
      resource: 'agent',
      summary: 'One agent, with its health',
      answers: {
        200: { description: 'The agent', schema: AgentView },
        404: { description: 'No agent has this name' },
      },
      handle: async ({ values, caller }) => ({
        body: viewOf(agents.need(caller.workspace, values['name'] ?? '')),
      }),
    }),
    defineRoute({
      verb: 'PUT',
      path: '/a2a/agents/{name}',
      scope: 'agents:write',
      resource: 'agent',
      summary: 'Changes an agent that this workspace registered',
      detail:
        'If headers is missing, the stored headers are kept. To change the address or allowOrigins of an agent with headers, set headers again.',
      query: Query,
      body: AgentInput,
      answers: {
        200: { description: 'The agent', schema: AgentView },
        400: { description: 'The input is invalid' },
        404: { description: 'No agent has this name' },
        409: { description: 'The agent is in the configuration' },
        502: { description: "The agent's card could not be fetched" },
      },
      async handle({ values, body: input, caller, query }) {
        const verify = query.verify !== 'false';
        const { workspace, actor } = caller;
        const name = values['name'] ?? '';
        const agent = await agents.put({ workspace, actor, name, input, create: false, verify });
        return { body: viewOf(agent) };
      },
    }),
    defineRoute({
      verb: 'DELETE',
      path: '/a2a/agents/{name}',
      scope: 'agents:write',
      resource: 'agent',
      summary: 'Removes an agent that this workspace registered',
      answers: {
        204: { description: 'The agent was removed' },
        404: { description: 'No agent has this name' },
        409: { description: 'The agent is in the configuration' },
      },
      async handle({ values, caller }) {
        await agents.remove(caller.workspace, caller.actor, values['name'] ?? '');
        return { status: 204 };
      },
    }),
  ];
}

function viewOf(agent: RemoteAgent): AgentView {
  const { name, source, settings, health, profile } = agent;
  return {
    name,
    source,
    path: `/agents/${name}`,
    description: profile.description,
    ...(profile.version !== undefined && { version: profile.version }),
    tags: settings.tags ?? [],
    skills: [...(profile.skills ?? [])],
    health,
    // The settings of an agent from the configuration are not shown.
    ...(source === 'api' && ownSettings(settings)),
  };
}

/**
 * Returns the settings for the workspace that registered the agent. The workspace must see the current settings,
 * because a PUT resets every setting that it leaves out, except for the headers.
 */
function ownSettings({ url, headers = {}, ...settings }: RemoteAgent['settings']) {
  const { allowOrigins, deduplicates, limits, timeoutMs } = settings;
  const given = { allowOrigins, deduplicates, limits, timeoutMs };
  return { url, headerNames: Object.keys(headers), ...defined(given) };
}
