/** The agents that run together: their names, their parents, and the allowed transfers. */
import type { Agent } from '../agent.ts';
import { RunError } from '../errors.ts';
import type { Event } from '../event.ts';
import type { Model } from '../model.ts';

/** An agent that has a conversation with the user and can transfer this conversation. */
export interface ConversationalAgent extends Agent {
  readonly kind: 'llm';
  /** The agent's model, or undefined to use the runner's default model. */
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

  /** Throws a RunError if the agents cannot run together. */
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

  /** Throws a RunError if an agent has no model. */
  checkModels(): void {
    for (const agent of this.#agents.values()) {
      if (!isConversational(agent) || agent.model) continue;
      throw invalid(noModel(agent.name));
    }
  }

  get agents(): Iterable<Agent> {
    return this.#agents.values();
  }

  find(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /**
   * Returns the agents to which this agent may transfer: its sub-agents, its parent, and its parent's other sub-agents.
   * The parent and its sub-agents are included only if the parent is conversational and the agent's options allow it.
   */
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

  /**
   * Returns the agent for the next message. If the agent that answered last can transfer back to the root, returns that
   * agent. If not, returns the root.
   */
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
  if (name === 'user')
    throw invalid(
      'an agent cannot have the name user: this name is reserved for the events of people',
    );
  if (NAME.test(name)) return;
  throw invalid(
    `${JSON.stringify(name)} is not a valid agent name: use up to 64 letters, digits, _ and -`,
  );
}

export function noModel(agent: string): string {
  return `${agent} has no model: set its model, or the runner's defaultModel`;
}

function duplicate(known: Agent, agent: Agent): RunError {
  return known === agent
    ? invalid(`the agent ${agent.name} is used twice: create a second one with another name`)
    : invalid(`two agents have the name ${agent.name}: rename one of them`);
}

function invalid(message: string): RunError {
  return new RunError('invalid-agents', message);
}
