// Agents behind a gateway without its keys: the registry and the executor over a real handler, and remotes on loopback.
import type { TestContext } from 'node:test';
import { createAgents, type Agents } from '../../src/gateway/agents/agents.ts';
import { AgentsConfig } from '../../src/gateway/agents/config.ts';
import { proxyExecutor } from '../../src/gateway/agents/executor.ts';
import { createSpending } from '../../src/gateway/budgets/spending.ts';
import { Caller } from '../../src/gateway/api/caller.ts';
import { gatewayExecutor } from '../../src/gateway/tasks/executor.ts';
import { openRegister, type SqliteRegister } from '../../src/gateway/register/sqlite-register.ts';
import type { AuditEntry } from '../../src/gateway/audit/audit.ts';
import { createClient, type AgentClient } from '../../src/client/index.ts';
import type { AgentCard, AgentService, Call, ProtocolVersion } from '../../src/protocol/index.ts';
import { createHandler, type A2AAgent, type RequestHandler } from '../../src/tasks/index.ts';
import { SecretBox, secretKeys } from '../../src/store/secrets.ts';
import { serve, type Listening, type ServeOptions } from '../../src/server.ts';
import { quiet } from '../interop/support.ts';
import { auditInto } from '../support/audit-into.ts';

export interface Behind {
  readonly agents: Agents;
  readonly register: SqliteRegister;
  readonly handler: RequestHandler;
  readonly audited: AuditEntry[];
  /** A client at the agent's door, or (none) at the gateway's own. */
  readonly client: (agent?: string, workspace?: string, traceparent?: string) => AgentClient;
}

export interface BehindOptions {
  readonly config?: unknown;
  readonly secretKey?: string;
  readonly allowNetworks?: readonly string[];
}

export function behind(t: TestContext, options: BehindOptions = {}): Behind {
  const register = openRegister(undefined, quiet);
  const audited: AuditEntry[] = [];
  const { secretKey, allowNetworks = [] } = options;
  const agents = createAgents({
    register,
    config: AgentsConfig.parse(options.config ?? {}),
    audit: auditInto(audited),
    secrets: new SecretBox(secretKeys({ secretKey }), Buffer.from('salt')),
    allowNetworks,
    logger: quiet,
  });
  const executor = gatewayExecutor({
    agents: proxyExecutor({
      agents,
      spending: createSpending({ register, logger: quiet }),
      logger: quiet,
    }),
    models: {
      async *execute() {
        yield { kind: 'status-update', state: 'failed', message: 'there is no model here' };
      },
    },
    expiry: () => undefined,
  });
  const handler = createHandler(executor, { logger: quiet });
  t.after(async () => {
    await handler.close();
    await agents.close();
    register.close();
  });
  return {
    agents,
    register,
    handler,
    audited,
    client: (agent, workspace = 'default', traceparent) =>
      createClient(asCaller(handler, callerOf(workspace, agent, traceparent)), { card: CARD }),
  };
}

export function callerOf(workspace: string, agent?: string, traceparent?: string): Caller {
  return new Caller({
    workspace,
    actor: `key:${workspace}`,
    scopes: new Set(['*']),
    agent,
    traceparent,
  });
}

/** The handler's operations, all asked by one caller. */
export function asCaller(handler: AgentService, user: Caller): AgentService {
  const by = (call: Call = {}): Call => ({ ...call, user });
  return {
    sendMessage: (params, call) => handler.sendMessage(params, by(call)),
    streamMessage: (params, call) => handler.streamMessage(params, by(call)),
    getTask: (params, call) => handler.getTask(params, by(call)),
    listTasks: (params, call) => handler.listTasks(params, by(call)),
    cancelTask: (params, call) => handler.cancelTask(params, by(call)),
    subscribe: (params, call) => handler.subscribe(params, by(call)),
    setPushConfig: (params, call) => handler.setPushConfig(params, by(call)),
    getPushConfig: (params, call) => handler.getPushConfig(params, by(call)),
    listPushConfigs: (params, call) => handler.listPushConfigs(params, by(call)),
    deletePushConfig: (params, call) => handler.deletePushConfig(params, by(call)),
    getExtendedCard: (params, call) => handler.getExtendedCard(params, by(call)),
  };
}

/** An agent of ours on loopback until the test ends. */
export async function remote(
  t: TestContext,
  agent: A2AAgent,
  options: ServeOptions & { only?: ProtocolVersion } = {},
): Promise<Listening> {
  const { only, ...rest } = options;
  const versions = only === undefined ? {} : { versions: [only] };
  const listening = await serve(agent, { logger: quiet, ...versions, ...rest }).listen(0);
  t.after(() => listening.close());
  return listening;
}

const CARD: AgentCard = {
  name: 'behind',
  description: '',
  version: '0',
  supportedInterfaces: [{ url: 'local:', protocolBinding: 'LOCAL', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
};
