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
  sequentialAgent,
  type Agent,
} from '../../src/agent.ts';
import { answerText } from '../../src/client/index.ts';
import { bridge } from './support.ts';

/** Two agents of which the one that begins first ends last. */
function makeTeam(): Agent {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const left = customAgent({ name: 'left' }, async function* () {
    yield 'left ';
    begun.resolve();
    await ended.promise;
    yield 'done';
  });
  const right = customAgent({ name: 'right' }, async function* () {
    await begun.promise;
    yield 'right ';
    yield 'done';
  });
  const rest = customAgent({ name: 'rest' }, async function* () {
    ended.resolve();
    yield* [];
  });
  const second = sequentialAgent({ name: 'second', subAgents: [right, rest] });
  return parallelAgent({ name: 'team', description: 'Side by side', subAgents: [left, second] });
}

test('the result of a run of parallel agents is the text that a client of the bridge gets', async (t) => {
  const asked = { user: 'ann', session: 's', message: 'go' };
  const { text } = await createRunner({ agent: makeTeam() }).runToEnd(asked);
  const client = await (await bridge(t, makeTeam())).client();
  const result = await client.send('go');
  assert.equal(text, 'left done\n\nright done');
  assert.equal(answerText(result), text);
});

test('as a tool they give the model all of their answers', async () => {
  const model = scriptedModel([
    [{ call: { name: 'team', args: { request: 'go' } } }],
    [{ text: 'ok' }],
  ]);
  const agent = llmAgent({ name: 'boss', model, tools: [agentTool(makeTeam())] });
  const runner = createRunner({ agent });
  const results: string[] = [];
  for await (const { content } of runner.run({ user: 'ann', session: 's', message: 'go' })) {
    for (const part of content?.parts ?? []) {
      if (part.kind === 'function-response') results.push(JSON.stringify(part));
    }
  }
  assert.match(results.join(), /left.*right/);
});
