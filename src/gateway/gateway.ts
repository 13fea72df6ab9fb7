/**
 * The gateway: one A2A server in front of models and agents. This file creates the parts and connects them.
 *
 *   const gateway = createGateway({ config, store, register, pepper, version });
 *   const { url } = await gateway.listen(8090);
 */
import { andThen, defined, type MaybePromise } from '../base/index.ts';
import { createMetrics } from '../base/metrics/index.ts';
import type { SigningKeys } from '../base/signing/index.ts';
import { createHash, randomBytes } from 'node:crypto';
import type { AgentCard, Call, User } from '../protocol/index.ts';
import {
  type A2AAgent,
  type AgentProfile,
  type Logger,
  type Retention,
  startSweeper,
  type TaskStore,
  consoleLogger,
} from '../tasks/index.ts';
import { SecretBox, secretKeys, type SecretKeyOptions, watchStore } from '../store/index.ts';
import { consoleRoutes } from '../console/index.ts';
import { type Listening, serve } from '../serve.ts';
import type { ServeOptions, TlsPair } from '../server.ts';
import { createHealth, storeCheck, type MountedAgent, type MountOptions } from '../http/index.ts';
import { type Agents, createAgents } from './agents/agents.ts';
import { proxyExecutor } from './agents/executor.ts';
import type { RemoteAgent } from './agents/remote.ts';
import { inboxRoute } from './agents/inbox-route.ts';
import { agentRoutes } from './agents/routes.ts';
import { CALLER_CODEC, callerOf, DEFAULT_WORKSPACE } from './api/caller.ts';
import { callerRoute } from './api/caller-route.ts';
import { createCards } from './cards/cards.ts';
import { cardRoutes } from './cards/routes.ts';
import { FIXED_FIELDS, type GatewayConfig } from './config.ts';
import type { Register } from './register/register.ts';
import { GATEWAY_CARD, gatewayProfile } from './dialect/card.ts';
import { expiryOf } from './dialect/expiry.ts';
import { dialectRoutes } from './dialect/routes.ts';
import { gatewayExecutor } from './tasks/executor.ts';
import { guardedHandler } from './api/guard.ts';
import { createAudit } from './audit/audit.ts';
import { createAuthenticate } from './auth/authenticate.ts';
import { createSharedRateLimiter } from './auth/shared-rate-limit.ts';
import { createKeys } from './keys/keys.ts';
import { createOidc } from './auth/oidc.ts';
import type { Pepper } from './keys/pepper.ts';
import { keyRoutes } from './keys/routes.ts';
import { auditRoutes } from './audit/routes.ts';
import { usageRoutes } from './budgets/routes.ts';
import { createSpending } from './budgets/spending.ts';
import { earlierTurns } from './models/tasks/conversation.ts';
import { modelExecutor } from './models/tasks/executor.ts';
import { createModels } from './models/models.ts';
import { anthropicRoutes } from './models/anthropic/routes.ts';
import { anthropicErrors } from './models/anthropic/error.ts';
import { googleErrors } from './models/google/error.ts';
import { googleRoutes } from './models/google/routes.ts';
import { openaiErrors } from './models/openai/error.ts';
import { openaiRoutes } from './models/openai/routes.ts';
import { responsesRoutes } from './models/openai/responses/routes.ts';
import { createVendorApi } from './models/vendor-api/vendor-api.ts';
import { METRICS } from './telemetry/metric-names.ts';
import { watchRequests, watchTasks } from './telemetry/requests.ts';
import { operationRoutes } from './operation/routes.ts';
import { createTracer, tracingOptions } from '../base/tracing/export/index.ts';
import type { GatewayRoute } from './api/route.ts';
import { describeIn, ownRoutes } from './api/serve-routes.ts';
import { retentionOf, TasksConfig } from './tasks/config.ts';

export interface GatewayOptions {
  readonly config: GatewayConfig;
  /** The task store. The gateway closes it. */
  readonly store: TaskStore;
  /** The register: the database of keys, model cards, agents, usage and the audit log. The gateway closes it. */
  readonly register: Register;
  /** The secret for hashing keys, from `openPepper`. */
  readonly pepper: Pepper;
  /**
   * The keys that encrypt the headers of registered agents, and the headers and metadata that the gateway forwards to
   * agents. Default: a random key for this process. Texts that a random key has encrypted cannot be decrypted after a
   * restart.
   */
  readonly secrets?: SecretKeyOptions | undefined;
  readonly version: string;
  readonly logger?: Logger;
  /** The address of the gateway for clients, if it is behind a proxy. */
  readonly publicUrl?: string | undefined;
  /** The certificate of the server that `listen` starts. */
  readonly tls?: TlsPair | undefined;
  /** The gRPC binding, and its port if this is not the port of the gateway. Default: no gRPC. */
  readonly grpc?: ServeOptions['grpc'];
  readonly grpcPort?: ServeOptions['grpcPort'];
  /** The keys that sign webhooks and agent cards. Default: a new key for this process, which signs only webhooks. */
  readonly signing?: SigningKeys;
  /** Private networks that webhooks and registered agents may be in, in CIDR notation. Default: none. */
  readonly allowNetworks?: readonly string[];
  /** Retention of finished tasks. Default: `tasks` in the configuration. */
  readonly retention?: Retention | undefined;
  /** The environment variables with the vendors' API keys and the OpenTelemetry settings. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export type Gateway = ReturnType<typeof createGateway>;

export function createGateway(options: GatewayOptions) {
  const { store, register, pepper, version, publicUrl, allowNetworks = [] } = options;
  const { logger = consoleLogger, environment = process.env } = options;
  const { signing, tls, grpc, grpcPort } = options;
  let { config } = options;
  let tasks = TasksConfig.parse(config.tasks ?? {});
  const metrics = createMetrics(METRICS, { version });
  const tracing = tracingOptions(config.telemetry, environment);
  const tracer = createTracer(tracing, {
    logger,
    service: 'parley-gateway',
    version,
    meter: metrics,
  });
  const audit = createAudit({ register });
  const keys = createKeys({ register, audit, pepper, logger });
  const spending = createSpending({ register, logger, config: config.budgets });
  const cards = createCards({ register, audit });
  // Without an exporter, the other parts get no tracer, so that they do not collect attributes for spans.
  const observed = { logger, meter: metrics, tracer: tracing && tracer };
  const models = createModels({
    config,
    cards,
    spending,
    env: environment,
    otherNodes: register,
    ...observed,
  });
  const { secrets = { secretKey: randomBytes(32).toString('base64url') } } = options;
  const agents = createAgents({
    register,
    config: config.agents ?? {},
    audit,
    allowNetworks,
    healthSeconds: config.agentHealthSeconds,
    secrets: new SecretBox(secretKeys(secrets), sealSalt(register)),
    ...observed,
  });
  const health = createHealth({
    checks: { store: storeCheck(store), register: () => register.check() },
    logger,
  });

  const vendorApi = createVendorApi({ models });
  const routes: readonly GatewayRoute[] = [
    ...dialectRoutes(),
    inboxRoute({ agents }),
    ...cardRoutes({ cards }),
    ...agentRoutes({ agents }),
    callerRoute(),
    ...keyRoutes({ keys }),
    ...usageRoutes({ spending, needKey: (workspace, id) => keys.get(workspace, id) }),
    ...auditRoutes({ audit }),
    ...openaiRoutes({ models, api: vendorApi }),
    ...responsesRoutes({ api: vendorApi }),
    ...anthropicRoutes({ api: vendorApi }),
    ...googleRoutes({ models, api: vendorApi }),
    ...operationRoutes({ health, metrics, version, publicUrl, routes: () => routes }),
  ];

  const requests = register.kind === 'postgres' ? createSharedRateLimiter(register) : undefined;
  let authenticate = authentication(config);
  function authentication({ keys: settings }: GatewayConfig) {
    const oidc = settings?.oidc && createOidc({ config: settings.oidc, logger });
    const forwarded = () => agents.forwardedHeaders;
    return createAuthenticate({ keys, oidc, rateLimit: settings?.rateLimit, forwarded, requests });
  }

  const profile = profileOf(version, agents);
  const executor = gatewayExecutor({
    models: modelExecutor({ models, earlierTurns: earlierTurns(() => server.handler) }),
    agents: proxyExecutor({ agents, spending, ...observed }),
    expiry: (metadata) => expiryOf(metadata, tasks, Date.now()),
  });
  const agent: A2AAgent = Object.defineProperty({ ...executor, profile: profile() }, 'profile', {
    get: profile,
    enumerable: true,
  });

  const server = serve(agent, {
    store,
    logger,
    authenticate: (request) => authenticate(request),
    users: CALLER_CODEC,
    guard: guardedHandler,
    card: GATEWAY_CARD,
    extendedCard: ({ user }: Call): Partial<AgentCard> => ({
      skills: [...gatewayProfile(version, agents.skillsOf(callerOf({ user }).workspace)).skills],
    }),
    routes: [...ownRoutes(routes), ...consoleRoutes({ gateway: true })],
    describe: describeIn([googleErrors, anthropicErrors, openaiErrors]),
    mounts: mountsOf(agents),
    onState: watchTasks(metrics),
    observe: watchRequests(metrics, routes),
    push: { allowNetworks },
    ...defined({ publicUrl, signing, tls, cors: config.cors }),
    grpc,
    grpcPort,
    limits: { ...defined(config.limits), keepExpiredMs: tasks.keepExpiredSeconds * 1000 },
    sweep: false,
  });
  watchStore(metrics, store);
  metrics.gauge('parley_executions_running', () => server.handler.running);
  metrics.gauge('parley_streams_open', () => server.streams);
  metrics.gauge('parley_model_circuit_open', () => models.circuits());
  metrics.gauge('parley_agents', () =>
    Object.entries(agents.census()).map(([health, count]) => [{ health }, count] as const),
  );

  let sweeping = new AbortController();
  function sweep(): void {
    sweeping.abort();
    sweeping = new AbortController();
    startSweeper({
      handler: server.handler,
      logger,
      everyMs: tasks.sweepSeconds * 1000,
      keepExpiredMs: tasks.keepExpiredSeconds * 1000,
      retention: options.retention ?? retentionOf(tasks),
      signal: sweeping.signal,
      onSwept: ({ ended, removed, old = 0 }) => {
        metrics.count('parley_tasks_expired_total', { outcome: 'ended' }, ended);
        metrics.count('parley_tasks_expired_total', { outcome: 'deleted' }, removed);
        metrics.count('parley_tasks_expired_total', { outcome: 'old' }, old);
      },
    });
  }

  /**
   * Whether requests can be served without a call of `loadAgents`. With SQLite, agents are read when they are needed.
   */
  let hasAgents = register.kind === 'sqlite';

  async function loadAgents(): Promise<void> {
    await agents.load();
    hasAgents = true;
  }

  /**
   * Reads the registered agents before the first request, because this request also resumes interrupted tasks. If the
   * read fails, the register logs the error, and the next request tries again.
   */
  function ready(): MaybePromise<void> {
    return hasAgents ? undefined : loadAgents().catch(() => undefined);
  }

  /** Starts the health checks of agents and the removal of expired and old tasks. */
  function start(): void {
    agents.start();
    sweep();
  }

  async function close(closeServer: () => Promise<void>): Promise<void> {
    health.drain();
    sweeping.abort();
    await closeServer();
    await agents.close();
    await models.close();
    await spending.close();
    await tracer.close();
    metrics.close();
    await register.close();
  }

  return {
    keys,
    /** Creates a key with all scopes, for a register without keys. Returns the secret. */
    async makeFirstKey(): Promise<string> {
      const workspace = DEFAULT_WORKSPACE;
      const made = await keys.create({ workspace, name: 'first', scopes: ['*'] }, 'gateway');
      return made.secret;
    },
    /** The gateway's own routes. */
    routes,
    /** The handlers for a server of another program. Call `start` too. */
    node: (...request: Parameters<typeof server.node>) =>
      void andThen(ready(), () => server.node(...request)),
    fetch: async (...request: Parameters<typeof server.fetch>) =>
      andThen(ready(), () => server.fetch(...request)),
    start,
    /** Reads the registered agents, listens on the port, and calls `start`. */
    async listen(port?: number, host?: string): Promise<Listening> {
      await loadAgents();
      const listening = await server.listen(port, host);
      start();
      return { ...listening, close: (ms) => close(() => listening.close(ms)) };
    },
    /**
     * Changes the configuration without interrupting streams and tasks. If the new configuration is invalid, throws and
     * changes nothing. Returns the names of changed fields that take effect only after a restart.
     */
    reload(next: GatewayConfig): readonly string[] {
      // Steps that may throw come first. `models.use` changes nothing if it throws.
      const nextAuthenticate = differs(next.keys, config.keys)
        ? authentication(next)
        : authenticate;
      models.use(next);
      spending.use(next.budgets ?? {});
      authenticate = nextAuthenticate;
      agents.use(next.agents ?? {}, next.agentHealthSeconds);
      tasks = TasksConfig.parse(next.tasks ?? {});
      const fixed = FIXED_FIELDS.filter((field) => differs(next[field], options.config[field]));
      config = next;
      if (!sweeping.signal.aborted) sweep();
      return fixed;
    },
    /** Makes `/readyz` respond with 503. Requests are still served. */
    drain: () => health.drain(),
    /** Number of executions in progress, plus the number of requests in progress from clients of the vendors' APIs. */
    get running(): number {
      return server.handler.running + vendorApi.running;
    },
    /**
     * Closes a gateway that does not listen on a port. Waits up to `ms` milliseconds (default: 0) for running tasks.
     * After `listen`, call `close` of its result instead.
     */
    close: (ms?: number) => close(() => server.close(ms)),
  };
}

/**
 * Returns the salt for the encryption of agents' headers. It differs from the salt for the pepper, because both secrets
 * are derived from PARLEY_SECRET_KEY.
 */
function sealSalt(register: Register): Uint8Array {
  return createHash('sha256').update('parley agents').update(register.salt).digest();
}

/**
 * Returns a function that returns the gateway's profile. The profile is the same object until the skills of the agents
 * change.
 */
function profileOf(version: string, agents: Agents): () => AgentProfile {
  let last: { readonly text: string; readonly profile: AgentProfile } | undefined;
  return () => {
    const skills = agents.skills();
    const text = JSON.stringify(skills);
    if (last?.text !== text) last = { text, profile: gatewayProfile(version, skills) };
    return last.profile;
  };
}

/** Serves the agents of the caller's workspace at `/agents/NAME`. */
function mountsOf(agents: Agents): MountOptions {
  const mounted = new WeakMap<AgentProfile, MountedAgent>();
  const mountOf = ({ profile }: RemoteAgent): MountedAgent => {
    let mount = mounted.get(profile);
    if (!mount) mounted.set(profile, (mount = { profile, card: GATEWAY_CARD }));
    return mount;
  };
  const workspaceOf = (user: User | undefined): string => {
    const caller = callerOf({ user });
    caller.need('agents:use');
    return caller.workspace;
  };
  return {
    path: '/agents',
    find(name, user) {
      const agent = agents.find(workspaceOf(user), name);
      if (agent?.health.state !== 'unknown') return agent && mountOf(agent);
      // Before the agent's card has been fetched, it is unknown which extensions the agent has. If the card cannot be
      // fetched, the task fails later with the reason.
      const looked = agent.fetchCard().catch(() => undefined);
      return looked.then(() => mountOf(agent));
    },
    // A request without an agent's name is sent to the workspace's only agent. With several agents, there is no
    // default.
    unnamed(user) {
      const [agent, ...others] = agents.list(workspaceOf(user));
      return others.length === 0 ? agent?.name : undefined;
    },
    userOf: (tenant, user) => callerOf({ user }).at(tenant),
  };
}

function differs(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}
