import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../agent.ts';
import { customAgent } from '../agents/custom.ts';
import { llmAgent } from '../agents/llm.ts';
import { sequentialAgent } from '../agents/workflow.ts';
import { createRunner } from './runner.ts';

const leaf = (name: string): Agent => customAgent({ name }, async function* () {});

const wrong: { what: string; agent: () => Agent; says: RegExp }[] = [
  {
    what: 'two agents of one name',
    agent: () => sequentialAgent({ name: 'root', subAgents: [leaf('a'), leaf('a')] }),
    says: /two agents have the name a: rename one of them/,
  },
  {
    what: 'a child that is called like its parent',
    agent: () => sequentialAgent({ name: 'a', subAgents: [leaf('a')] }),
    says: /two agents have the name a/,
  },
  {
    what: 'an agent that is there twice',
    agent: () => {
      const twice = leaf('twice');
      return sequentialAgent({ name: 'root', subAgents: [twice, twice] });
    },
    says: /twice is used twice/,
  },
  {
    what: 'an agent that is called user',
    agent: () => leaf('user'),
    says: /an agent cannot have the name user/,
  },
  { what: 'a name with a dot', agent: () => leaf('a.b'), says: /"a\.b" is not a valid agent name/ },
  { what: 'no name', agent: () => leaf(''), says: /"" is not a valid agent name/ },
  {
    what: 'an agent without a model',
    agent: () => sequentialAgent({ name: 'root', subAgents: [llmAgent({ name: 'mute' })] }),
    says: /mute has no model: set its model, or the runner's defaultModel/,
  },
];
for (const { what, agent, says } of wrong) {
  test(`a runner is not made with ${what}`, () => {
    assert.throws(
      () => createRunner({ agent: agent() }),
      (error: Error) => {
        assert.equal(error.name, 'RunError');
        assert.match(error.message, says);
        return true;
      },
    );
  });
}
