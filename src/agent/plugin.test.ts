import assert from 'node:assert/strict';
import { test } from 'node:test';
import { llmAgent } from './agents/llm.ts';
import { functionResponses, contentText, userContent, type Content } from './content.ts';
import type { Event } from './event.ts';
import { scriptedModel, type ScriptedResponse } from './models/scripted.ts';
import type { Callbacks, Plugin } from './plugin.ts';
import { createRunner } from './run/runner.ts';
import type { Tool } from './tool.ts';
import { all, at, words } from '../../test/support/runs.ts';

const said = (text: string): Content => ({ role: 'model', parts: [{ kind: 'text', text }] });

const greet: Tool = {
  name: 'greet',
  description: 'Greets',
  parameters: { type: 'object' },
  run: ({ name }) => `hello ${words(name)}`,
};

async function run(
  script: readonly ScriptedResponse[],
  callbacks: Callbacks,
  plugins: readonly Plugin[] = [],
): Promise<Event[]> {
  const agent = llmAgent({ name: 'a', model: scriptedModel(script), tools: [greet], callbacks });
  const runner = createRunner({ agent, plugins });
  return all(runner.run({ ...at, message: 'go' }));
}

const lastText = (events: readonly Event[]): string => contentText(events.at(-1)?.content);
const toolResponse = (events: readonly Event[]): unknown =>
  events.flatMap(({ content }) => functionResponses(content))[0]?.response;
const calling: ScriptedResponse[] = [
  [{ call: { name: 'greet', args: { name: 'Ann' } } }],
  [{ text: 'done' }],
];

test('beforeAgent can answer instead of the agent', async () => {
  assert.equal(lastText(await run([], { beforeAgent: () => said('closed') })), 'closed');
});

test('afterAgent can add to what the agent said', async () => {
  const events = await run([[{ text: 'one' }]], { afterAgent: () => said('two') });
  const texts = events.filter(({ partial }) => !partial).map(({ content }) => contentText(content));
  assert.deepEqual(texts, ['one', 'two']);
});

test('beforeModel can answer instead of the model, or send another request', async () => {
  const answered = await run([], { beforeModel: () => ({ answer: { content: said('cached') } }) });
  assert.equal(lastText(answered), 'cached');
  let system: string | undefined;
  const model = scriptedModel([[{ text: 'ok' }]], {
    onRequest: (request) => (system = request.system),
  });
  const beforeModel: Callbacks['beforeModel'] = (request) => ({
    request: { ...request, system: 'Be brief' },
  });
  const agent = llmAgent({ name: 'a', model, callbacks: { beforeModel } });
  await createRunner({ agent }).runToEnd({ ...at, message: 'go' });
  assert.equal(system, 'Be brief');
});

test('afterModel can change the answer', async () => {
  const events = await run([[{ text: 'damn' }]], {
    afterModel: (answer) => ({ ...answer, content: said('****') }),
  });
  assert.equal(lastText(events), '****');
});

test('onModelError can answer in the place of a model that fails', async () => {
  const events = await run([[{ error: { status: 400, message: 'no' } }]], {
    onModelError: (error) => ({ content: said(`sorry: ${error.name}`) }),
  });
  assert.equal(lastText(events), 'sorry: ModelError');
});

test('beforeTool can answer instead of the tool, or change its arguments', async () => {
  const denied = await run(calling, {
    beforeTool: () => ({ result: { response: 'not allowed', isError: true } }),
  });
  assert.equal(toolResponse(denied), 'not allowed');
  const changed = await run(calling, { beforeTool: () => ({ args: { name: 'Bob' } }) });
  assert.equal(toolResponse(changed), 'hello Bob');
});

test('afterTool can change what the model is told', async () => {
  const events = await run(calling, {
    afterTool: (_call, { response }) => ({ response: `${words(response)}!` }),
  });
  assert.equal(toolResponse(events), 'hello Ann!');
});

test("plugins are asked before the agent's own callback, and the first that decides wins", async () => {
  const asked: string[] = [];
  const hook = (name: string, answer?: string) => ({
    beforeAgent() {
      asked.push(name);
      return answer === undefined ? undefined : said(answer);
    },
  });
  const events = await run([], hook('own', 'own'), [
    { name: 'first', ...hook('first') },
    { name: 'second', ...hook('second', 'second') },
  ]);
  assert.equal(lastText(events), 'second');
  assert.deepEqual(asked, ['first', 'second']);
});

test('a plugin can change what the user said and what is stored, and hears of the end', async () => {
  const outcomes: string[] = [];
  const plugin: Plugin = {
    name: 'censor',
    onUserMessage: () => userContent('[left out]'),
    onEvent: (event) => (event.content ? { ...event, content: said('[cut]') } : undefined),
    afterRun: (outcome) => void outcomes.push(outcome),
  };
  const agent = llmAgent({ name: 'a', model: scriptedModel([[{ text: 'secret' }]]) });
  const runner = createRunner({ agent, plugins: [plugin] });
  await runner.runToEnd({ ...at, message: 'my password is x' });
  const session = await runner.sessions.get({ app: 'a', user: 'ann', id: 's' });
  assert.deepEqual(
    session?.events.map(({ content }) => contentText(content)),
    ['[left out]', '[cut]'],
  );
  assert.deepEqual(outcomes, ['done']);
});

test('a plugin can make neither a complete event partial nor move it to a branch', async () => {
  const plugin: Plugin = {
    name: 'mover',
    onEvent: (event) => ({ ...event, partial: true, branch: 'elsewhere' }),
  };
  const agent = llmAgent({ name: 'a', model: scriptedModel([[{ text: 'hello' }]]) });
  const runner = createRunner({ agent, plugins: [plugin] });
  await runner.runToEnd({ ...at, message: 'hi' });
  const session = await runner.sessions.get({ app: 'a', user: 'ann', id: 's' });
  const [, answer] = session?.events ?? [];
  assert.equal(contentText(answer?.content), 'hello');
  assert.equal(answer?.branch, undefined);
});

test('a hook that throws ends the run with an event that says so', async () => {
  const events = await run([], {
    beforeAgent() {
      throw new Error('hook broke');
    },
  });
  assert.equal(events.at(-1)?.error?.message, 'hook broke');
});

test('an event hook that throws ends the run with an error event, and not with an exception', async () => {
  const outcomes: string[] = [];
  const plugin: Plugin = {
    name: 'broken',
    onEvent() {
      throw new Error('hook broke');
    },
    afterRun: (outcome) => void outcomes.push(outcome),
  };
  const events = await run([[{ text: 'hello' }]], {}, [plugin]);
  assert.equal(events.at(-1)?.error?.message, 'hook broke');
  assert.deepEqual(outcomes, ['failed']);
});
