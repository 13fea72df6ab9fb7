/** The agents that run together: whether they fit, who is whose, and who may hand over to whom. */
import type { Agent } from '../agent.ts';
import { RunError } from '../errors.ts';
import type { Event } from '../event.ts';
import type { Model } from '../model.ts';

/** An agent that holds a conversation, and can hand it over. */
export interface ConversationalAgent extends Agent {
  readonly kind: 'llm';
  /** The runner's default where there is none. */
  readonly model: Model | undefined;
  readonly disallowTransferToParent?: boolean;
  readonly disallowTransferToPeers?: boolean;
}

export function isConversational(agent: Agent): agent is ConversationalAgent {
  return 'kind' in agent && agent.kind === 'llm';
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_AGENTS = 1000;

export class AgentTree {
  readonly root: Agent;
  readonly #agents = new Map<string, Agent>();
  readonly #parents = new Map<Agent, Agent>();

  /** Throws a RunError that says what does not fit. */
  constructor(root: Agent) {
    this.root = root;
    const open: Agent[] = [root];
    for (let agent = open.pop(); agent !== undefined; agent = open.pop()) {
      checkName(agent.name);
      const known = this.#agents.get(agent.name);
      if (known) throw duplicate(known, agent);
      this.#agents.set(agent.name, agent);
      if (this.#agents.size > MAX_AGENTS) throw invalid(`there are more than ${MAX_AGENTS} agents`);
      for (const child of agent.subAgents) {
        this.#parents.set(child, agent);
        open.push(child);
      }
    }
  }

  /** Throws where an agent has no model of its own. */
  checkModels(): void {
    for (const agent of this.#agents.values()) {
      if (!isConversational(agent) || agent.model) continue;
      throw invalid(`${agent.name} has no model: give it one, or the runner a defaultModel`);
    }
  }

  get agents(): Iterable<Agent> {
    return this.#agents.values();
  }

  find(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /** To whom this agent may hand over: its sub-agents, its parent, and its parent's other sub-agents. */
  transferTargets(agent: ConversationalAgent): Agent[] {
    const targets = [...agent.subAgents];
    const parent = this.#parents.get(agent);
    if (!parent || !isConversational(parent)) return targets;
    if (agent.disallowTransferToParent !== true) targets.push(parent);
    if (agent.disallowTransferToPeers !== true) {
      targets.push(...parent.subAgents.filter((peer) => peer !== agent));
    }
    return targets;
  }

  /** Who takes the next message: the agent that spoke last where it could also hand back, else the root. */
  next(events: readonly Event[]): Agent {
    for (const { author } of events.toReversed()) {
      if (author === 'user') continue;
      const agent = this.#agents.get(author);
      if (agent) return this.#canHandBack(agent) ? agent : this.root;
    }
    return this.root;
  }

  #canHandBack(agent: Agent): boolean {
    for (let at: Agent | undefined = agent; at !== undefined; at = this.#parents.get(at)) {
      if (!isConversational(at)) return false;
      if (at !== this.root && at.disallowTransferToParent === true) return false;
    }
    return true;
  }
}

function checkName(name: string): void {
  if (name === 'user') throw invalid('no agent is called user: events of people have that author');
  if (NAME.test(name)) return;
  throw invalid(
    `${JSON.stringify(name)} is no name for an agent: use up to 64 letters, digits, _ and -`,
  );
}

function duplicate(known: Agent, agent: Agent): RunError {
  return known === agent
    ? invalid(`the agent ${agent.name} is in the tree twice: make a second one with another name`)
    : invalid(`two agents are called ${agent.name}: give one of them another name`);
}

function invalid(message: string): RunError {
  return new RunError('invalid-agents', message);
}
