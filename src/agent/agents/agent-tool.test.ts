import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { Agent } from '../agent.ts';
import { customAgent } from './custom.ts';
import { llmAgent } from './llm.ts';
import { parallelAgent } from './workflow.ts';
import { functionCalls, functionResponses, contentText } from '../content.ts';
import { delegatedIn } from '../delegated.ts';
import type { Event, AnswerInbox } from '../event.ts';
import type { Model } from '../model.ts';
import { scriptedModel, type ScriptedResponse } from '../models/scripted.ts';
import { resultOf } from '../run/run-result.ts';
import { createRunner } from '../run/runner.ts';
import { memorySessions } from '../sessions/memory.ts';
import type { Tool } from '../tool.ts';
import { agentTool } from './agent-tool.ts';
import { all, at, mortal, toolOf, words } from '../../../test/support/runs.ts';

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

test('several questions of an agent are open at the same time, each with its own id', async () => {
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
  assert.deepEqual(
    questions.map(({ text }) => text),
    ['left', 'right'],
  );
  const [left, right] = questions.map(({ id }) => id);
  const next = await resultOf(
    runner().resume({ ...at, runId, answers: [{ questionId: right!, value: 2 }] }),
  );
  assert.deepEqual(
    next.questions.map(({ id }) => id),
    [left],
  );
  const last = await resultOf(
    runner().resume({ ...at, runId, answers: [{ questionId: left!, value: 1 }] }),
  );
  assert.equal(last.text, 'done');
  const session = await sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.deepEqual([session?.state['left'], session?.state['right']], [1, 2]);
});

/** A scripted model whose calls have this id. */
function withIds(id: string, script: readonly ScriptedResponse[]): Model {
  const model = scriptedModel(script);
  return {
    ...model,
    async *generate(request, signal) {
      for await (const chunk of model.generate(request, signal)) {
        yield chunk.kind === 'function-call' ? { ...chunk, id } : chunk;
      }
    },
  };
}

/** An agent whose model calls the tool `look` and then reports. */
function looker(id: string) {
  const look: Tool = {
    name: 'look',
    description: 'look',
    parameters: { type: 'object' },
    run: () => 'seen',
  };
  const model = withIds(id, [asks('look'), [{ text: 'I looked.' }]]);
  return llmAgent({ name: 'inner', model, tools: [look] });
}

test("the caller's run shows each event of the agent, and stores none of them", async () => {
  const { runner, sessions } = caller(agentTool(looker('c1')));
  const events = await all(runner().run({ ...at, message: 'go' }));
  const shown = events.flatMap(({ actions }) => actions.delegated ?? []);
  const [call] = events.flatMap(({ content }) => functionCalls(content));
  assert.ok(shown.every(({ callId }) => callId === call?.id));
  const whole = shown.map(({ event }) => event).filter(({ partial }) => partial !== true);
  assert.deepEqual(
    whole.map(({ author, content }) => [author, content?.parts[0]?.kind]),
    [
      ['inner', 'function-call'],
      ['inner', 'function-response'],
      ['inner', 'text'],
    ],
  );
  const session = await sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.ok(
    session?.events.every(({ author, actions }) => author !== 'inner' && !actions.delegated),
  );
});

test('an agent inside an agent is shown too, inside the event of the one that called it', async () => {
  const middle = llmAgent({
    name: 'middle',
    model: withIds('c1', [
      asks('inner', { name: 'inner', args: { request: 'look' } }),
      [{ text: 'It looked.' }],
    ]),
    tools: [agentTool(looker('c1'))],
  });
  const { runner } = caller(agentTool(middle));
  const events = await all(runner().run({ ...at, message: 'go' }));
  const [call] = events.flatMap(({ content }) => functionCalls(content));
  const shown = events.flatMap((event) => delegatedIn(event) ?? []);
  const ids = shown
    .filter(({ event }) => event.author === 'inner')
    .flatMap(({ event }) => functionCalls(event.content).map(({ id }) => id));
  assert.deepEqual(ids, [`${call?.id}/c1/c1`]);
});

test("a vendor's id that cannot be combined with others is replaced", async () => {
  for (const id of ['a/b', 'x'.repeat(101)]) {
    const { runner } = caller(agentTool(looker(id)));
    const events = await all(runner().run({ ...at, message: 'go' }));
    const shown = events.flatMap(({ actions }) => actions.delegated?.event ?? []);
    const [call] = shown.flatMap(({ content }) => functionCalls(content));
    const [response] = shown.flatMap(({ content }) => functionResponses(content));
    assert.match(call?.id ?? '', /^call_[0-9a-f]{32}$/);
    assert.equal(response?.id, call?.id);
  }
});

test('an agent gets an answer while another of its calls runs', async () => {
  const asked = Promise.withResolvers<void>();
  const paid = Promise.withResolvers<void>();
  const base = { description: '', parameters: { type: 'object' } };
  const pay: Tool = { ...base, name: 'pay', confirm: () => true, run: () => paid.resolve() };
  const wait: Tool = { ...base, name: 'wait', run: () => paid.promise };
  const model = scriptedModel([
    [{ call: { name: 'wait' } }, { call: { name: 'pay' } }],
    [{ text: 'paid' }],
  ]);
  const { runner } = caller(agentTool(llmAgent({ name: 'inner', model, tools: [pay, wait] })));
  const arrivals = new Set<() => void>();
  let allowed = false;
  const inbox: AnswerInbox = {
    take: ({ id }) => (allowed ? { questionId: id, confirmed: true } : undefined),
    listen(arrived) {
      arrivals.add(arrived);
      return { [Symbol.dispose]: () => void arrivals.delete(arrived) };
    },
  };
  void asked.promise.then(() => {
    allowed = true;
    for (const arrived of arrivals) arrived();
  });
  const events: Event[] = [];
  for await (const event of runner().run({ ...at, message: 'go', inbox })) {
    events.push(event);
    if (event.actions.delegated?.event.actions.questions) asked.resolve();
  }
  assert.equal(responseIn(events), 'paid');
  assert.ok(
    events.every(({ actions }) => actions.questions === undefined),
    'the caller never had to wait',
  );
});

test('an agent whose caller died in the middle is not resumed, and its session is gone', async () => {
  const inner = customAgent({ name: 'inner' }, async function* ({ signal }) {
    yield 'begun';
    await once(signal, 'abort');
  });
  const { runner, sessions } = caller(agentTool(inner));
  const remove = sessions.delete.bind(sessions);
  sessions.delete = async () => false;
  let runId = '';
  for await (const event of runner().run({ ...at, message: 'go' })) {
    ({ runId } = event);
    if (event.actions.delegated) break;
  }
  sessions.delete = remove;
  const events = await all(runner().resume({ ...at, runId, answers: [] }));
  assert.match(String(responseIn(events)), /outcome unknown/);
  const left = await sessions.list({ app: 'app', user: 'ann' });
  assert.deepEqual(
    left.map(({ id }) => id),
    ['s'],
  );
});

/**
 * A caller whose agent makes one payment, then two at once, then a fourth. Only the first needs no approval. `during` is
 * called while the second payment is being made, and can approve the third in the meantime.
 */
function payer(during: (n: unknown, approve: () => void) => unknown) {
  const asked = { id: '', approved: false };
  const arrivals = new Set<() => void>();
  const inbox: AnswerInbox = {
    take({ id }) {
      if (!asked.approved || id !== asked.id) return undefined;
      asked.approved = false;
      return { questionId: id, confirmed: true };
    },
    listen(arrived) {
      arrivals.add(arrived);
      return { [Symbol.dispose]: () => void arrivals.delete(arrived) };
    },
  };
  const approve = (): void => {
    asked.approved = true;
    for (const arrived of arrivals) arrived();
  };
  const paid: unknown[] = [];
  const run: Tool['run'] = async ({ n }) => {
    await during(n, approve);
    await setTimeout(20);
    paid.push(n);
  };
  const pay = toolOf('pay', run, { sequential: true, confirm: ({ n }) => n !== 1 });
  const payment = (n: number) => ({ call: { name: 'pay', args: { n } } });
  const script = [[payment(1)], [payment(2), payment(3)], [payment(4)], [{ text: 'paid' }]];
  const inner = llmAgent({ name: 'inner', model: scriptedModel(script), tools: [pay] });
  const agent = llmAgent({
    name: 'outer',
    model: scriptedModel([
      asks('inner', { name: 'inner', args: { request: 'pay' } }),
      [{ text: 'done' }],
    ]),
    tools: [agentTool(inner)],
  });
  const sessions = memorySessions();
  const runner = (store = sessions) => createRunner({ agent, sessions: store, app: 'app' });
  /** Runs until the second and the third payment wait for approval. Returns the answer to the former. */
  async function begin() {
    const { runId, questions } = await runner().runToEnd({ ...at, message: 'go' });
    assert.deepEqual(
      questions.map(({ args }) => args?.['n']),
      [2, 3],
    );
    asked.id = questions[1]!.id;
    return { ...at, runId, answers: [{ questionId: questions[0]!.id, confirmed: true }] };
  }
  return { runner, sessions, paid, inbox, asked, begin };
}

test('a question that an agent got the answer to itself is not open in the run of its caller', async () => {
  const { runner, paid, inbox, begin } = payer((n, approve) => {
    if (n === 2) approve();
  });
  const first = await begin();
  await all(runner().resume({ ...first, inbox }));
  const open = await runner().pending(first);
  assert.deepEqual(
    open.map(({ args }) => args?.['n']),
    [4],
  );
  const answers = open.map(({ id }) => ({ questionId: id, confirmed: true }));
  const events = await all(runner().resume({ ...first, answers }));
  assert.equal(responseIn(events), 'paid');
  assert.deepEqual(paid, [1, 2, 3, 4]);
});

test('an agent that got an answer itself and died is not run again when the answer comes again', async () => {
  const died = Promise.withResolvers<void>();
  const { runner, sessions, paid, inbox, asked, begin } = payer((n, approve) => {
    if (n === 2) approve();
    if (n !== 3) return undefined;
    died.resolve();
    return new Promise(() => {});
  });
  const first = await begin();
  const { store, die } = mortal(sessions);
  const stop = new AbortController();
  const run = all(runner(store).resume({ ...first, inbox, signal: stop.signal }));
  await died.promise;
  die();
  stop.abort(new Error('killed'));
  await assert.rejects(run);
  const answers = [{ questionId: asked.id, confirmed: true }];
  const events = await all(runner().resume({ ...first, answers }));
  assert.match(
    words(responseIn(events)),
    /^outcome unknown: .*\n(?:pay \{"n":[12]\}: done\n?){2}$/s,
  );
  assert.deepEqual(paid, [1, 2]);
});

test('an agent that is stopped while one of its questions is open tells what it had done', async () => {
  const stop = new AbortController();
  const { runner, sessions, begin } = payer((n) => {
    if (n !== 2) return undefined;
    setImmediate(() => stop.abort(new Error('stopped by the user')));
    return new Promise(() => {});
  });
  const first = await begin();
  await assert.rejects(all(runner().resume({ ...first, signal: stop.signal })));
  await runner().cancel(first);
  const session = await sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.match(
    words(responseIn(session?.events ?? [])),
    /^stopped by the user: this call did not finish\. .*\npay \{"n":1\}: done$/s,
  );
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

test('the agent of a call that was active when the process ended is canceled with the run', async () => {
  const begun = Promise.withResolvers<void>();
  const canceled: string[] = [];
  const inner: Agent = {
    ...customAgent({ name: 'inner' }, async function* ({ signal }) {
      yield 'begun';
      begun.resolve();
      await once(signal, 'abort');
    }),
    cancel: async ({ runId }) => void canceled.push(runId),
  };
  const model = scriptedModel([asks('inner', { name: 'inner', args: { request: 'do it' } })]);
  const agent = llmAgent({ name: 'outer', model, tools: [agentTool(inner)] });
  const sessions = memorySessions();
  const { store, die } = mortal(sessions);
  const runner = (used = sessions) => createRunner({ agent, sessions: used, app: 'app' });
  const stop = new AbortController();
  const run = all(runner(store).run({ ...at, message: 'go', runId: 'r', signal: stop.signal }));
  await begun.promise;
  die();
  stop.abort(new Error('killed'));
  await assert.rejects(run);
  await runner().cancel({ ...at, runId: 'r' });
  const left = await sessions.list({ app: 'app', user: 'ann' });
  assert.deepEqual(
    left.map(({ id }) => id),
    ['s'],
  );
  assert.equal(canceled.length, 1);
});
