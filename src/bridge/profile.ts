/**
 * How an agent of the framework introduces itself: its card's profile, made from its own name, description and tools.
 *
 * There is a skill for the agent, one for each agent below it and one for each of their tools. A toolset is named and
 * not opened: what it holds is found out when a run needs it, and may need a network. What has no description is
 * described by its name, because a card has to say something (A2A 1.0, AgentCard and AgentSkill). Who wants other
 * skills, or wants to keep them to himself, says so in the overrides.
 */
import type { AgentSkill } from '../protocol/index.ts';
import type { AgentProfile } from '../tasks/index.ts';
import { type Agent, isToolset } from '../agent/index.ts';

const DEFAULT_VERSION = '1.0.0';
/** Text and data are sure to be read. Files of every kind are let in: which ones it can use is the agent's own matter. */
const INPUT_MODES = ['text/plain', 'application/json', '*/*'];
/** Answers are text, questions have a part for programs. Who makes files says which, in the overrides. */
const OUTPUT_MODES = ['text/plain', 'application/json'];
/** A card is read whole by everybody who connects. */
const MAX_SKILLS = 200;
const MAX_DESCRIPTION = 1000;

export function profileOf(agent: Agent, overrides: Partial<AgentProfile> = {}): AgentProfile {
  return {
    name: agent.name,
    description: agent.description || agent.name,
    version: DEFAULT_VERSION,
    inputModes: INPUT_MODES,
    outputModes: OUTPUT_MODES,
    skills: skillsOf(agent),
    ...overrides,
  };
}

/** Expects a tree that the runner has accepted: its names are unique, and it has no ring. */
function skillsOf(root: Agent): AgentSkill[] {
  const skills: AgentSkill[] = [];
  const add = (id: string, name: string, description: string, tags: string[]) => {
    if (skills.length >= MAX_SKILLS) return;
    const text = description.slice(0, MAX_DESCRIPTION) || name;
    skills.push({ id, name, description: text, tags });
  };
  const visit = (agent: Agent) => {
    add(agent.name, agent.name, agent.description, agent === root ? ['agent'] : ['sub-agent']);
    for (const tool of agent.tools ?? []) {
      const id = `${agent.name}.${tool.name}`;
      if (isToolset(tool)) add(id, tool.name, `The tools of ${tool.name}`, ['toolset', agent.name]);
      else add(id, tool.name, tool.description, ['tool', agent.name]);
    }
    for (const child of agent.subAgents) visit(child);
  };
  visit(root);
  return skills;
}
