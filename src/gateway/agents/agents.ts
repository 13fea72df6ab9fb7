/**
 * The agents behind the gateway. Agents from the configuration are trusted. Agents that callers registered in their
 * workspace are guarded. They may only be in public networks and in networks that the operator allowed. If an agent
 * from the configuration and a registered agent have the same name, workspaces that may use the configured agent get
 * the configured agent.
 */
import { rest } from '../../base/index.ts';
import { A2AError, type AgentSkill } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { SecretBox } from '../../store/index.ts';
import type { Register } from '../register/register.ts';
import type { Audit } from '../audit/audit.ts';
import type { AgentInput, AgentsConfig } from './config.ts';
import { createDialler } from './dialler.ts';
import { createTaskLinks } from './task-links.ts';
import { RemoteAgent, type Health } from './remote.ts';
import { createAgentRegistry } from './registry.ts';

export interface AgentsOptions {
  readonly register: Register;
  readonly config?: AgentsConfig;
  readonly audit: Audit;
  /** Encrypts the headers of registered agents. If undefined, agents with headers are refused. */
  readonly secrets?: SecretBox | undefined;
  /** Private networks that registered agents may be in, in CIDR notation. Default: none. */
  readonly allowNetworks?: readonly string[];
  readonly healthSeconds?: number | undefined;
  readonly logger: Logger;
}

export type Agents = ReturnType<typeof createAgents>;

export interface AgentChange {
  readonly workspace: string;
  readonly actor: string;
  readonly name: string;
  readonly input: AgentInput;
  readonly create: boolean;
  /** If true, the agent's card is fetched first, and the change is refused if the card cannot be fetched. */
  readonly verify: boolean;
}

const HEALTH_SECONDS = 30;
const CHECKS_AT_ONCE = 16;
const PRUNE_MS = 3_600_000;

export function createAgents(options: AgentsOptions) {
  const { register, logger, audit, secrets } = options;
  const dialler = createDialler(options.allowNetworks ?? []);
  const links = createTaskLinks({ register, logger, secrets });
  const registry = createAgentRegistry({ register, secrets, route: dialler.guarded, logger });
  const stopped = new AbortController();
  let configured = new Map<string, RemoteAgent>();
  let forwardedHeaders: readonly string[] = [];
  let started = false;
  let everySeconds = HEALTH_SECONDS;
  /** Aborted when the interval between health checks changes, so that a check does not wait for the old interval. */
  let resting = new AbortController();

  /** Replaces the configuration. Running tasks keep the agent that they started with. */
  function use(config: AgentsConfig, healthSeconds = HEALTH_SECONDS): void {
    const next = new Map<string, RemoteAgent>();
    for (const [name, settings] of Object.entries(config)) {
      const before = configured.get(name);
      const same = before && JSON.stringify(before.settings) === JSON.stringify(settings);
      const agent = same
        ? before
        : new RemoteAgent({ name, source: 'config', settings, route: dialler.trusted });
      next.set(name, agent);
      if (started && !same) void check(agent);
    }
    configured = next;
    forwardedHeaders = [
      ...new Set([...next.values()].flatMap(({ forwardHeaders }) => forwardHeaders)),
    ];
    if (healthSeconds === everySeconds) return;
    everySeconds = healthSeconds;
    resting.abort();
    resting = new AbortController();
  }

  function check(agent: RemoteAgent): Promise<void> {
    const before = agent.health.state;
    return agent.fetchCard().then(
      () => {
        if (before === 'unhealthy')
          logger.info({ agent: agent.name }, 'a remote agent is available again');
      },
      (error: unknown) => {
        if (before === 'unhealthy') return;
        logger.warn({ err: error, agent: agent.name }, 'a remote agent is unavailable');
      },
    );
  }

  async function checkAll(unhealthy: boolean): Promise<void> {
    const all = [...configured.values(), ...registry.all()];
    const waiting = all
      .filter(({ health }) => (health.state === 'unhealthy') === unhealthy)
      .values();
    const worker = async (): Promise<void> => {
      for (const agent of waiting) if (!stopped.signal.aborted) await check(agent);
    };
    await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, worker));
  }

  /**
   * Checks either the unhealthy agents or all other agents, at regular intervals. Unhealthy agents have their own loop,
   * so that their timeouts do not delay the checks of the other agents. The loop of the other agents also removes old
   * links to remote tasks (task-links.ts), once an hour.
   */
  async function checkRegularly(unhealthy: boolean): Promise<void> {
    let pruneAt = 0;
    for (;;) {
      // The register (the gateway's database) may be temporarily unavailable. The next check reads it again.
      await checkAll(unhealthy).catch((error: unknown) => {
        logger.warn({ err: error }, 'failed to check the remote agents');
      });
      // Add jitter, so that gateways that were started together do not send their checks at the same time.
      const wait = everySeconds * 1000 * (0.8 + 0.4 * Math.random());
      const signal = AbortSignal.any([stopped.signal, resting.signal]);
      await rest(wait, signal);
      stopped.signal.throwIfAborted();
      if (unhealthy || Date.now() < pruneAt) continue;
      pruneAt = Date.now() + PRUNE_MS;
      await links.prune(Date.now(), stopped.signal);
    }
  }

  function find(workspace: string, name: string): RemoteAgent | undefined {
    const agent = configured.get(name);
    return agent?.isFor(workspace) === true ? agent : registry.find(workspace, name);
  }

  /**
   * Like `find`, but throws `notFound` if there is no such agent. An agent of another workspace causes the same error,
   * so that callers cannot find out that it exists.
   */
  function need(workspace: string, name: string): RemoteAgent {
    const agent = find(workspace, name);
    if (!agent) throw notFound(name);
    return agent;
  }

  /** Returns the agents that the workspace may use, sorted by name. */
  function list(workspace: string): RemoteAgent[] {
    const found = new Map(registry.list(workspace).map((agent) => [agent.name, agent]));
    for (const agent of configured.values()) {
      if (agent.isFor(workspace)) found.set(agent.name, agent);
    }
    return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /**
   * Throws `conflict` if the configuration has an agent with this name for the workspace. Callers cannot change such an
   * agent.
   */
  function checkOwn(workspace: string, name: string): void {
    if (configured.get(name)?.isFor(workspace) !== true) return;
    throw new A2AError(
      'conflict',
      `The agent ${name} is in the gateway's configuration and can only be changed there`,
    );
  }

  /**
   * Registers an agent if `create` is true, otherwise changes it. Throws `conflict` if the agent is in the
   * configuration. With `create`, also throws `conflict` if the agent already exists or the workspace has too many
   * agents. Throws `notFound` if the agent to change does not exist. Throws `invalidParams` if an address is not
   * allowed, if headers cannot be stored, or if `draft` (registry.ts) requires headers and `input` has none. With
   * `verify`, throws `upstreamFailed` if the card cannot be fetched.
   */
  async function put(change: AgentChange): Promise<RemoteAgent> {
    const { workspace, actor, name, input, create, verify } = change;
    checkOwn(workspace, name);
    const before = registry.find(workspace, name);
    if (create && before) throw new A2AError('conflict', `The agent ${name} already exists`);
    if (!create && !before) throw notFound(name);
    for (const url of [input.url, ...(input.allowOrigins ?? [])]) {
      if (!dialler.closes(url)) continue;
      throw new A2AError(
        'invalidParams',
        `The address is in a network that is not allowed for registered agents. The operator can allow it with --allow-network`,
      );
    }
    const draft = registry.draft(workspace, name, input, before);
    if (verify) {
      await draft.agent.fetchCard().catch((error: unknown) => {
        const hint = 'To register it anyway, use ?verify=false.';
        throw new A2AError('upstreamFailed', `${draft.agent.explain(error)} ${hint}`);
      });
    }
    await register.change(function* () {
      // The agent may have been removed while its card was being fetched.
      if (!(yield* draft.save(create))) throw notFound(name);
      const action = create ? 'agent.create' : 'agent.update';
      const detail = { headers: draft.headerNames };
      yield* audit.record({ workspace, actor, action, subject: name, detail });
    });
    await registry.load();
    registry.remember(workspace, draft);
    if (!verify && started) void check(draft.agent);
    return draft.agent;
  }

  async function remove(workspace: string, actor: string, name: string): Promise<void> {
    checkOwn(workspace, name);
    await register.change(function* () {
      if (!(yield* registry.remove(workspace, name))) throw notFound(name);
      yield* links.forget(workspace, name);
      yield* audit.record({ workspace, actor, action: 'agent.delete', subject: name });
    });
    await registry.load();
  }

  use(options.config ?? {}, options.healthSeconds);
  return {
    links,
    /** Names of the request headers that are forwarded to at least one agent, in lower case. */
    get forwardedHeaders(): readonly string[] {
      return forwardedHeaders;
    },
    find,
    need,
    list,
    /** Returns the skills of the agents that every workspace may use, for the public card. */
    skills: () => skillsIn([...configured.values()].filter(({ settings }) => !settings.workspaces)),
    /** Returns the skills of all agents that the workspace may use. */
    skillsOf: (workspace: string) => skillsIn(list(workspace)),
    put,
    remove,
    use,
    /** Reads the registered agents. If the register is in PostgreSQL, must be called before the first request. */
    load: () => registry.load(),
    /** Returns the number of agents in each health state. */
    census() {
      const counts: Record<Health['state'], number> = { unknown: 0, healthy: 0, unhealthy: 0 };
      for (const { health } of [...configured.values(), ...registry.all()]) counts[health.state]++;
      return counts;
    },
    /** Starts the health checks. */
    start() {
      if (started) return;
      started = true;
      for (const unhealthy of [false, true]) {
        checkRegularly(unhealthy).catch((error: unknown) => {
          if (!stopped.signal.aborted)
            logger.error({ err: error }, 'the health checks of remote agents have stopped');
        });
      }
    },
    async close() {
      stopped.abort();
      await dialler.close();
    },
  };
}

/** Returns the skills of the agents. Each skill id gets the agent's name as a prefix, so that the ids are unique. */
function skillsIn(agents: readonly RemoteAgent[]): AgentSkill[] {
  const found: AgentSkill[] = [];
  for (const { name, profile, settings } of agents) {
    for (const skill of profile.skills ?? []) {
      const tags = [...new Set([...skill.tags, ...(settings.tags ?? []), name])];
      found.push({ ...skill, id: `${name}/${skill.id}`, tags });
    }
  }
  return found;
}

function notFound(name: string): A2AError {
  return new A2AError('notFound', `There is no agent ${name}`);
}
