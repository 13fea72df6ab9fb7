/**
 * The agents behind the gateway: those of the configuration, whose addresses the operator vouches for, and those that
 * callers registered in their workspace, whose addresses are guarded. Of a name, the configuration's counts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { A2AError, type AgentSkill } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { SecretBox } from '../../store/index.ts';
import type { Register } from '../register/register.ts';
import type { Audit } from '../audit/audit.ts';
import type { AgentInput, AgentsConfig } from './config.ts';
import { createDialler } from './dialler.ts';
import { createTaskLinks, type TaskLinks } from './task-links.ts';
import { RemoteAgent, type Health } from './remote.ts';
import { createAgentRegistry } from './registry.ts';

export interface AgentsOptions {
  readonly register: Register;
  readonly config?: AgentsConfig;
  readonly audit: Audit;
  /** Seals the headers that callers give. Without it they are refused. */
  readonly secrets?: SecretBox | undefined;
  /** Private networks that agents of callers may be in, in CIDR notation. */
  readonly allowNetworks?: readonly string[];
  readonly healthSeconds?: number | undefined;
  readonly logger: Logger;
}

export interface Agents {
  find(workspace: string, name: string): RemoteAgent | undefined;
  /** By name. */
  list(workspace: string): RemoteAgent[];
  /** Of the agents that are for everybody: what the public card may say. */
  skills(): AgentSkill[];
  /** Of all that the workspace may use. */
  skillsOf(workspace: string): AgentSkill[];
  /** Registers an agent, or changes it; throws `conflict` where it is there (`create`) or the configuration's. */
  put(change: AgentChange): Promise<RemoteAgent>;
  remove(workspace: string, actor: string, name: string): void;
  /** Another configuration. What is under way goes on as it began. */
  use(config: AgentsConfig, healthSeconds?: number): void;
  /** How many there are, by health. */
  census(): Readonly<Record<Health['state'], number>>;
  /** Begins to look after the agents' health. */
  start(): void;
  close(): Promise<void>;
  readonly links: TaskLinks;
}

export interface AgentChange {
  readonly workspace: string;
  readonly actor: string;
  readonly name: string;
  readonly input: AgentInput;
  readonly create: boolean;
  /** Look at its card first, and refuse the change where there is none. */
  readonly verify: boolean;
}

const HEALTH_SECONDS = 30;
const LOOKS_AT_ONCE = 16;
const PRUNE_MS = 3_600_000;

export function createAgents(options: AgentsOptions): Agents {
  const { register, logger, audit } = options;
  const dialler = createDialler(options.allowNetworks ?? []);
  const links = createTaskLinks({ register, logger });
  const registry = createAgentRegistry({
    register,
    secrets: options.secrets,
    dispatcher: dialler.guarded,
  });
  const stopped = new AbortController();
  let configured = new Map<string, RemoteAgent>();
  let started = false;
  let everySeconds = HEALTH_SECONDS;
  /** Aborted when another interval counts: who waits by the old one looks now. */
  let resting = new AbortController();

  function use(config: AgentsConfig, healthSeconds = HEALTH_SECONDS): void {
    const next = new Map<string, RemoteAgent>();
    for (const [name, settings] of Object.entries(config)) {
      const before = configured.get(name);
      const same = before && JSON.stringify(before.settings) === JSON.stringify(settings);
      const agent = same
        ? before
        : new RemoteAgent({ name, source: 'config', settings, dispatcher: dialler.trusted });
      next.set(name, agent);
      if (started && !same) void look(agent);
    }
    configured = next;
    if (healthSeconds === everySeconds) return;
    everySeconds = healthSeconds;
    resting.abort();
    resting = new AbortController();
  }

  function look(agent: RemoteAgent): Promise<void> {
    const before = agent.health.state;
    return agent.look().then(
      () => {
        if (before === 'unhealthy') logger.info({ agent: agent.name }, 'an agent is back');
      },
      (error: unknown) => {
        if (before === 'unhealthy') return;
        logger.warn({ err: error, agent: agent.name }, 'an agent is not there');
      },
    );
  }

  async function lookAtAll(away: boolean): Promise<void> {
    const all = [...configured.values(), ...registry.all()];
    const waiting = all.filter(({ health }) => (health.state === 'unhealthy') === away).values();
    const worker = async (): Promise<void> => {
      for (const agent of waiting) if (!stopped.signal.aborted) await look(agent);
    };
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, worker));
  }

  /** Those that were away are looked after apart: who hangs keeps only others waiting that do. */
  async function lookAfter(away: boolean): Promise<void> {
    let pruneAt = 0;
    for (;;) {
      // The register may be away for a moment: the next look is by a new one.
      await lookAtAll(away).catch((error: unknown) => {
        logger.warn({ err: error }, 'the agents could not be looked at');
      });
      // So that gateways that were started together do not ask together.
      const wait = everySeconds * 1000 * (0.8 + 0.4 * Math.random());
      const signal = AbortSignal.any([stopped.signal, resting.signal]);
      await delay(wait, undefined, { signal, ref: false }).catch(() => undefined);
      stopped.signal.throwIfAborted();
      if (away || Date.now() < pruneAt) continue;
      pruneAt = Date.now() + PRUNE_MS;
      await links.prune(Date.now(), stopped.signal);
    }
  }

  function find(workspace: string, name: string): RemoteAgent | undefined {
    const agent = configured.get(name);
    if (agent) return agent.isFor(workspace) ? agent : registry.find(workspace, name);
    return registry.find(workspace, name);
  }

  function list(workspace: string): RemoteAgent[] {
    const found = new Map(registry.list(workspace).map((agent) => [agent.name, agent]));
    for (const agent of configured.values()) {
      if (agent.isFor(workspace)) found.set(agent.name, agent);
    }
    return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Throws where callers cannot change it. */
  function checkOwn(workspace: string, name: string): void {
    if (configured.get(name)?.isFor(workspace) !== true) return;
    throw new A2AError(
      'conflict',
      `The agent ${name} stands in the gateway's configuration and is changed there`,
    );
  }

  async function put(change: AgentChange): Promise<RemoteAgent> {
    const { workspace, actor, name, input, create, verify } = change;
    checkOwn(workspace, name);
    const before = registry.find(workspace, name);
    if (create && before) throw new A2AError('conflict', `There is an agent ${name} already`);
    if (!create && !before) throw notFound(name);
    for (const url of [input.url, ...(input.allowOrigins ?? [])]) {
      if (!dialler.closes(url)) continue;
      throw new A2AError(
        'invalidParams',
        `The address is in a network that is closed to callers; the operator opens it with --allow-network`,
      );
    }
    const draft = registry.draft(workspace, name, input, before);
    if (verify) {
      await draft.agent.look().catch((error: unknown) => {
        const hint = 'Ask with ?verify=false to register it nevertheless.';
        throw new A2AError('upstreamFailed', `${draft.agent.explain(error)} ${hint}`);
      });
    }
    register.transaction(() => {
      // It may have been removed while its card was looked at.
      if (!draft.save(create)) throw notFound(name);
      const action = create ? 'agent.create' : 'agent.update';
      audit.record({
        workspace,
        actor,
        action,
        subject: name,
        detail: { headers: draft.headerNames },
      });
    });
    registry.drop();
    registry.remember(workspace, draft.agent);
    if (!verify && started) void look(draft.agent);
    return draft.agent;
  }

  function remove(workspace: string, actor: string, name: string): void {
    checkOwn(workspace, name);
    register.transaction(() => {
      if (!registry.remove(workspace, name)) throw notFound(name);
      links.forget(workspace, name);
      audit.record({ workspace, actor, action: 'agent.delete', subject: name });
    });
    registry.drop();
  }

  use(options.config ?? {}, options.healthSeconds);
  return {
    links,
    find,
    list,
    skills: () => skillsIn([...configured.values()].filter(({ settings }) => !settings.workspaces)),
    skillsOf: (workspace) => skillsIn(list(workspace)),
    put,
    remove,
    use,
    census() {
      const counts = { unknown: 0, healthy: 0, unhealthy: 0 };
      for (const { health } of [...configured.values(), ...registry.all()]) counts[health.state]++;
      return counts;
    },
    start() {
      if (started) return;
      started = true;
      for (const away of [false, true]) {
        lookAfter(away).catch((error: unknown) => {
          if (!stopped.signal.aborted)
            logger.error({ err: error }, 'agents are no longer looked after');
        });
      }
    },
    async close() {
      stopped.abort();
      await dialler.close();
    },
  };
}

/** Each under its agent's name, so that two of the same id do not meet. */
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

/** In the same words whether it is another workspace's or nobody's. */
export function notFound(name: string): A2AError {
  return new A2AError('notFound', `There is no agent ${name}`);
}
