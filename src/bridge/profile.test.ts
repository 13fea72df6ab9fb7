import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentSkill } from '../protocol/index.ts';
import type { Agent } from '../agent/agent.ts';
import type { Tool, Toolset } from '../agent/tool.ts';
import { profileOf } from './profile.ts';

function agentOf(name: string, more: Partial<Agent> = {}): Agent {
  return { name, description: `Does ${name}`, subAgents: [], async *run() {}, ...more };
}

function toolOf(name: string): Tool {
  return { name, description: `Tool ${name}`, parameters: { type: 'object' }, run: () => null };
}

test('an agent is introduced by its own name and description', () => {
  const profile = profileOf(agentOf('helper'));
  assert.equal(profile.name, 'helper');
  assert.equal(profile.description, 'Does helper');
  assert.equal(profile.version, '1.0.0');
  assert.ok(profile.inputModes?.includes('text/plain') && profile.outputModes?.length);
});

test('there is a skill for the agent, for each agent below it and for each tool', () => {
  const root = agentOf('root', {
    tools: [toolOf('weather')],
    subAgents: [agentOf('writer', { tools: [toolOf('look')] }), agentOf('critic')],
  });
  const skills = AgentSkill.array().parse(profileOf(root).skills);
  assert.deepEqual(
    skills.map(({ id, name, tags }) => [id, name, tags[0]]),
    [
      ['root', 'root', 'agent'],
      ['root.weather', 'weather', 'tool'],
      ['writer', 'writer', 'sub-agent'],
      ['writer.look', 'look', 'tool'],
      ['critic', 'critic', 'sub-agent'],
    ],
  );
});

test('what has no description is described by its name', () => {
  const { description, skills } = profileOf(agentOf('helper', { description: '' }));
  assert.deepEqual([description, skills?.[0]?.description], ['helper', 'helper']);
});

test('a toolset is named and not opened', () => {
  const files: Toolset = {
    name: 'files',
    tools: () => assert.fail('nobody may connect for the sake of a card'),
  };
  const skills = profileOf(agentOf('root', { tools: [files] })).skills;
  assert.deepEqual(skills?.[1], {
    id: 'root.files',
    name: 'files',
    description: 'The tools of files',
    tags: ['toolset', 'root'],
  });
});

test('a card with very many tools stays readable', () => {
  const tools = Array.from({ length: 1000 }, (_, index) => toolOf(`t${index}`));
  assert.equal(profileOf(agentOf('root', { tools })).skills?.length, 200);
});

test('what the author says otherwise counts', () => {
  const profile = profileOf(agentOf('root'), { name: 'Root', version: '2.1.0', skills: [] });
  assert.deepEqual([profile.name, profile.version, profile.skills], ['Root', '2.1.0', []]);
});
