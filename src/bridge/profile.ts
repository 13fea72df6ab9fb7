/**
 * Makes the profile for an agent's card from the agent's name, description and tools.
 *
 * The card has a skill for the agent, for each of its sub-agents and for each of their tools. A toolset is one skill.
 * The tools in a toolset are listed only when a run needs them, because listing them may require network access. If an
 * agent or a tool has no description, its name is used, because the card requires a description (A2A 1.0, AgentCard and
 * AgentSkill). To show other skills or none, use the overrides.
 */
import type { AgentSkill } from '../protocol/index.ts';
import type { AgentProfile } from '../tasks/index.ts';
import { type Agent, isToolset } from '../agent/index.ts';

const DEFAULT_VERSION = '1.0.0';
/**
 * The media types that an agent accepts. Text and data are always read. Files of every type are accepted, and the
 * agent decides which of them it can use.
 */
const INPUT_MODES = ['text/plain', 'application/json', '*/*'];
/**
 * The media types of an agent's output. Answers are text, and questions have a data part. An agent that creates files
 * must list their types in the overrides.
 */
const OUTPUT_MODES = ['text/plain', 'application/json'];
/** Maximum number of skills on the card. Further skills are left out, because every client reads the whole card. */
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

/**
 * Returns the skills of an agent. The runner has already checked that names are unique and that there are no cycles.
 */
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
