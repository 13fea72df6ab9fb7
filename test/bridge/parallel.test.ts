// Agents that run side by side say the same in a program, over A2A and as a tool.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  agentTool,
  createRunner,
  customAgent,
  llmAgent,
  parallelAgent,
  scriptedModel,
  type Agent,
} from '../../src/agent.ts';
import { answerText } from '../../src/client/index.ts';
import { bridge } from './support.ts';

function says(name: string): Agent {
  return customAgent({ name }, async function* () {
    yield `${name} `;
    yield 'done';
  });
}

const team = parallelAgent({
  name: 'team',
  description: 'Works side by side',
  subAgents: [says('left'), says('right')],
});

test('the result of a run of parallel agents is the text that a client of the bridge gets', async (t) => {
  const asked = { user: 'ann', session: 's', message: 'go' };
  const { text } = await createRunner({ agent: team }).runToEnd(asked);
  const client = await (await bridge(t, team)).client();
  const result = await client.send('go');
  assert.equal(text, answerText(result));
  assert.match(text, /left/);
  assert.match(text, /right/);
});

test('as a tool they give the model all of their answers', async () => {
  const model = scriptedModel([
    [{ call: { name: 'team', args: { request: 'go' } } }],
    [{ text: 'ok' }],
  ]);
  const agent = llmAgent({ name: 'boss', model, tools: [agentTool(team)] });
  const runner = createRunner({ agent });
  const results: string[] = [];
  for await (const { content } of runner.run({ user: 'ann', session: 's', message: 'go' })) {
    for (const part of content?.parts ?? []) {
      if (part.kind === 'function-response') results.push(JSON.stringify(part));
    }
  }
  assert.match(results.join(), /left.*right/);
});
