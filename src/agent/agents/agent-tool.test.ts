import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { z } from 'zod';
import { customAgent } from './custom.ts';
import { llmAgent } from './llm.ts';
import { parallelAgent } from './parallel.ts';
import { functionResponses, contentText } from '../content.ts';
import type { Event } from '../event.ts';
import { scriptedModel, type ScriptedResponse } from '../models/scripted.ts';
import { resultOf } from '../run/run-result.ts';
import { createRunner } from '../run/runner.ts';
import { memorySessions } from '../sessions/memory.ts';
import type { Tool } from '../tool.ts';
import { agentTool } from './agent-tool.ts';
import { all, at, words } from '../../../test/support/runs.ts';

const asks = (
  name: string,
  args: ScriptedResponse[number]['call'] = { name },
): ScriptedResponse => [{ call: args }];

function caller(tool: Tool, args = { request: 'do it' }) {
  const model = scriptedModel([asks(tool.name, { name: tool.name, args }), [{ text: 'done' }]]);
  const sessions = memorySessions();
  const agent = llmAgent({ name: 'outer', model, tools: [tool] });
  return { sessions, runner: () => createRunner({ agent, sessions, app: 'app' }) };
}

function responseIn(events: readonly Event[]): unknown {
  const [response] = events.flatMap(({ content }) => functionResponses(content));
  return response?.response;
}

test("an agent's answer is the call's response, and its session is gone afterwards", async () => {
  const inner = customAgent({ name: 'inner' }, async function* (context) {
    context.state.set('mood', 'good');
    yield `heard ${contentText(context.input)} from ${words(context.state.get('name'))}`;
  });
  const { runner, sessions } = caller(agentTool(inner));
  const events = await all(runner().run({ ...at, message: 'go', state: { name: 'Ann' } }));
  assert.equal(responseIn(events), 'heard do it from Ann');
  const session = await sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.deepEqual(session?.state, { name: 'Ann', mood: 'good' });
  assert.deepEqual(
    (await sessions.list({ app: 'app', user: 'ann' })).map(({ id }) => id),
    ['s'],
  );
});

test("an agent that asks makes the call ask, and the answer goes on with the agent's run elsewhere", async () => {
  let begun = 0;
  const inner = customAgent({ name: 'inner' }, async function* (context) {
    const answer = context.answer('city');
    if (!answer) {
      begun++;
      yield context.question('city', { text: 'Which city?', options: ['Rome', 'Oslo'] });
      return;
    }
    yield `to ${words(answer.value)}`;
  });
  const { runner } = caller(agentTool(inner));
  const { runId, questions } = await runner().runToEnd({ ...at, message: 'go' });
  const [question] = questions;
  assert.deepEqual([question?.text, question?.options], ['Which city?', ['Rome', 'Oslo']]);
  const answers = [{ questionId: question!.id, value: 'Rome' }];
  const events = await all(runner().resume({ ...at, runId, answers }));
  assert.equal(responseIn(events), 'to Rome');
  assert.equal(begun, 1);
});

test("a confirmation inside an agent is the person's to give outside", async () => {
  const made: unknown[] = [];
  const pay: Tool = {
    name: 'pay',
    description: 'pay',
    parameters: { type: 'object' },
    confirm: () => true,
    run: (args) => void made.push(args),
  };
  const model = scriptedModel([asks('pay', { name: 'pay', args: { sum: 1 } }), [{ text: 'paid' }]]);
  const { runner } = caller(agentTool(llmAgent({ name: 'inner', model, tools: [pay] })));
  const { runId, questions } = await runner().runToEnd({ ...at, message: 'go' });
  assert.equal(questions[0]?.kind, 'confirmation');
  assert.deepEqual(questions[0]?.args, { sum: 1 });
  const answers = [{ questionId: questions[0].id, confirmed: true }];
  const { text } = await resultOf(runner().resume({ ...at, runId, answers }));
  assert.deepEqual([made, text], [[{ sum: 1 }], 'done']);
});

test('several questions of an agent are asked one after the other', async () => {
  const ask = (name: string) =>
    customAgent({ name }, async function* (context) {
      const answer = context.answer('q');
      if (!answer) {
        yield context.question('q', { text: name });
        return;
      }
      context.state.set(name, answer.value ?? null);
    });
  const both = parallelAgent({ name: 'both', subAgents: [ask('left'), ask('right')] });
  const { runner, sessions } = caller(agentTool(both));
  const { runId, questions } = await runner().runToEnd({ ...at, message: 'go' });
  assert.equal(questions[0]?.text, 'left');
  const questionId = questions[0].id;
  const next = await resultOf(
    runner().resume({ ...at, runId, answers: [{ questionId, value: 1 }] }),
  );
  assert.equal(next.questions[0]?.text, 'right');
  const last = await resultOf(
    runner().resume({ ...at, runId, answers: [{ questionId, value: 2 }] }),
  );
  assert.equal(last.text, 'done');
  const session = await sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.deepEqual([session?.state['left'], session?.state['right']], [1, 2]);
});

test('an agent with schemas takes an object and gives one', async () => {
  const model = scriptedModel([[{ text: '{"sum":3}' }]]);
  const inner = llmAgent({
    name: 'adder',
    model,
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
  });
  const tool = agentTool(inner);
  assert.deepEqual(tool.parameters['required'], ['a', 'b']);
  const outer = scriptedModel([
    asks('adder', { name: 'adder', args: { a: 1, b: 2 } }),
    [{ text: 'done' }],
  ]);
  const agent = llmAgent({ name: 'outer', model: outer, tools: [tool] });
  const events = await all(createRunner({ agent }).run({ ...at, message: 'go' }));
  assert.deepEqual(responseIn(events), { sum: 3 });
});

test('arguments that an agent does not take are refused as those of any tool are', () => {
  const inputSchema = z.object({ city: z.string(), days: z.number().default(3) });
  const inner = llmAgent({ name: 'inner', model: scriptedModel([]), inputSchema });
  const tool = agentTool(inner);
  assert.deepEqual(tool.parameters['required'], ['city'], 'what has a default need not be written');
  assert.throws(() => tool.parse?.({ days: 'two' }), {
    message: /^the arguments do not match the schema: city: .*; days: [^\n]*$/,
  });
});

test('an agent that is given up in the middle leaves no session behind', async () => {
  const begun = Promise.withResolvers<void>();
  const inner = customAgent({ name: 'inner' }, async function* ({ signal }) {
    yield 'begun';
    begun.resolve();
    await once(signal, 'abort');
  });
  const { sessions, runner } = caller(agentTool(inner));
  const { promise: deleted, resolve } = Promise.withResolvers<void>();
  const remove = sessions.delete.bind(sessions);
  sessions.delete = async (key) => {
    const found = await remove(key);
    resolve();
    return found;
  };
  const controller = new AbortController();
  const run = all(runner().run({ ...at, message: 'go', signal: controller.signal }));
  await begun.promise;
  controller.abort(new Error('enough'));
  await assert.rejects(run, /enough/);
  await deleted;
  const left = await sessions.list({ app: 'app', user: 'ann' });
  assert.deepEqual(
    left.map(({ id }) => id),
    ['s'],
  );
});

test('an agent that fails is told to the one that called it', async () => {
  const inner = customAgent({ name: 'inner' }, async function* () {
    yield 'so far';
    throw new Error('oh no');
  });
  const { runner } = caller(agentTool(inner));
  const events = await all(runner().run({ ...at, message: 'go' }));
  assert.equal(responseIn(events), 'inner failed: oh no');
  assert.equal(contentText(events.at(-1)?.content), 'done');
});
