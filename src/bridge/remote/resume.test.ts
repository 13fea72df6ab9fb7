// A remote agent through broken connections, restarts of either side, and questions that are answered one by one.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import { customAgent } from '../../agent/agents/custom.ts';
import { parallelAgent, sequentialAgent } from '../../agent/agents/workflow.ts';
import { llmAgent } from '../../agent/agents/llm.ts';
import { scriptedModel, type ScriptedResponse } from '../../agent/models/scripted.ts';
import { agentTool } from '../../agent/agents/agent-tool.ts';
import { tool } from '../../agent/tools/function-tool.ts';
import type { Agent } from '../../agent/agent.ts';
import { functionResponses, contentText } from '../../agent/content.ts';
import type { Event, Question } from '../../agent/event.ts';
import { createRunner } from '../../agent/run/runner.ts';
import { sqliteSessions } from '../../agent/sqlite/index.ts';
import { createAgent, serve } from '../../server.ts';
import { sqliteStore } from '../../store/sqlite.ts';
import { createGates, quiet, within } from '../../../test/interop/support.ts';
import { toA2AAgent } from '../a2a-agent.ts';
import { noteOf } from './note.ts';
import { remoteAgent } from './agent.ts';

const at = { user: 'ann', session: 's', runId: 'r' };

async function collect(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function said(events: readonly Event[]): string[] {
  return events
    .filter(({ partial, content }) => partial !== true && content !== undefined)
    .map(({ content }) => contentText(content));
}

function asked(events: readonly Event[]): Question[] {
  return events.flatMap(({ actions }) => actions.questions ?? []);
}

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'parley-remote-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const trip = createAgent({ name: 'Trip', description: 'Plans a trip' }, async function* (ctx) {
  yield 'Let me think. ';
  const { text } = await ctx.ask('Which city?');
  yield `Off to ${text}!`;
});

test('a connection that breaks in the middle is taken up without a gap or a repetition', async (t) => {
  const gates = createGates();
  const agent = createAgent({ name: 'Slow', description: '' }, async function* () {
    yield 'one ';
    await gates.wait('broken');
    yield 'two ';
    yield 'three';
  });
  const listening = await serve(agent, { logger: quiet }).listen(0);
  const { url, server } = listening;
  t.after(() => listening.close());
  const retry = { delayMs: 1, onRetry: () => gates.open('broken') };
  const runner = createRunner({ agent: remoteAgent({ name: 'slow', url, retry }) });
  const pieces: string[] = [];
  let whole = '';
  for await (const { partial, content } of runner.run({ ...at, message: 'go' })) {
    if (partial === true) pieces.push(contentText(content));
    else whole += contentText(content);
    if (pieces.length === 1) server.closeAllConnections();
  }
  assert.deepEqual(pieces, ['one ', 'two ', 'three']);
  assert.equal(whole, 'one two three');
});

test('a run that waits for an answer goes on in another process of ours', async (t) => {
  const file = path.join(folder(t), 'sessions.db');
  const listening = await serve(trip, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const process = () => {
    const sessions = sqliteSessions(file);
    t.after(() => sessions.close());
    return createRunner({ agent: remoteAgent({ name: 'trip', url: listening.url }), sessions });
  };
  const [question] = asked(await collect(process().run({ ...at, message: 'A trip' })));
  const answers = [{ questionId: question!.id, value: 'Paris' }];
  assert.deepEqual(said(await collect(process().resume({ ...at, answers }))), ['Off to Paris!']);
});

test('a remote agent that is a tool asks by its call, and is answered in another process of ours', async (t) => {
  const listening = await serve(trip, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const file = path.join(folder(t), 'sessions.db');
  const call = { name: 'remote', args: { request: 'A trip!' } };
  function process(script: ScriptedResponse[]) {
    const sessions = sqliteSessions(file);
    const tools = [agentTool(remoteAgent({ name: 'remote', url: listening.url }))];
    const agent = llmAgent({ name: 'caller', model: scriptedModel(script), tools });
    return { runner: createRunner({ agent, sessions }), close: () => sessions.close() };
  }
  const first = process([[{ call }]]);
  const [question] = asked(await collect(first.runner.run({ ...at, message: 'go' })));
  assert.equal(question?.text, 'Which city?');
  await first.close();
  const second = process([[{ text: 'Booked.' }]]);
  t.after(second.close);
  const answers = [{ questionId: question.id, value: 'Rome' }];
  const events = await collect(second.runner.resume({ ...at, answers }));
  const [response] = events.flatMap(({ content }) => functionResponses(content));
  assert.equal(response?.response, 'Off to Rome!');
  assert.deepEqual(said(events).at(-1), 'Booked.');
});

test('a remote that restarts while it waits is survived, also when the answer finds it away', async (t) => {
  const file = path.join(folder(t), 'tasks.db');
  const start = (port = 0) => serve(trip, { logger: quiet, store: sqliteStore(file) }).listen(port);
  const first = await start();
  let refused = 0;
  const away = Promise.withResolvers<void>();
  const counted: typeof fetch = (input, init) =>
    fetch(input, init).catch((error: unknown) => {
      if (++refused === 2) away.resolve();
      throw error;
    });
  const agent = remoteAgent({ name: 'trip', url: first.url, fetch: counted });
  const runner = createRunner({ agent });
  const [question] = asked(await collect(runner.run({ ...at, message: 'A trip' })));
  await first.close();
  const answers = [{ questionId: question!.id, value: 'Paris' }];
  const rest = collect(runner.resume({ ...at, answers }));
  await within('the remote to be missed', away.promise);
  const second = await start(first.port);
  t.after(() => second.close());
  assert.deepEqual(said(await rest), ['Off to Paris!']);
});

test('a run whose process died while the remote worked follows the work and sends nothing again', async (t) => {
  const file = path.join(folder(t), 'sessions.db');
  const gates = createGates();
  let executions = 0;
  const agent = createAgent({ name: 'Slow', description: '' }, async function* () {
    executions++;
    yield 'one ';
    await gates.wait('restarted');
    yield 'two';
  });
  const listening = await serve(agent, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const process = () => {
    const sessions = sqliteSessions(file);
    t.after(() => sessions.close());
    return createRunner({ agent: remoteAgent({ name: 'slow', url: listening.url }), sessions });
  };
  // Never asked for more: to the store, and to the remote, this process is dead.
  const run = process().run({ ...at, message: 'go' });
  const dead = run[Symbol.asyncIterator]();
  let step = await dead.next();
  while (step.done !== true && step.value.partial !== true) step = await dead.next();
  const events: Event[] = [];
  for await (const event of process().resume({ ...at, answers: [] })) {
    events.push(event);
    if (event.partial === true) gates.open('restarted');
  }
  assert.deepEqual(said(events), ['one two']);
  assert.equal(executions, 1);
  await dead.return?.();
});

test('a run whose process died while the remote agent worked cancels the remote task', async (t) => {
  const file = path.join(folder(t), 'sessions.db');
  const aborted = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Slow', description: '' }, async function* (ctx) {
    ctx.signal.addEventListener('abort', () => aborted.resolve(), { once: true });
    yield 'one ';
    await aborted.promise;
  });
  const listening = await serve(agent, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const process = () => {
    const sessions = sqliteSessions(file);
    t.after(() => sessions.close());
    return createRunner({ agent: remoteAgent({ name: 'slow', url: listening.url }), sessions });
  };
  // Never asked for more: to the store, and to the remote, this process is dead.
  const run = process().run({ ...at, message: 'go' });
  const dead = run[Symbol.asyncIterator]();
  let step = await dead.next();
  while (step.done !== true && step.value.partial !== true) step = await dead.next();
  await process().cancel(at);
  await within('the remote to be canceled', aborted.promise);
  await dead.return?.();
});

test('a message that was sent again after a crash is known by its id', async (t) => {
  const file = path.join(folder(t), 'sessions.db');
  let executions = 0;
  const agent = createAgent({ name: 'Once', description: '' }, async function* () {
    executions++;
    yield 'done';
  });
  const listening = await serve(agent, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const arrived = Promise.withResolvers<void>();
  const process = (fetch: typeof globalThis.fetch) => {
    const sessions = sqliteSessions(file);
    t.after(() => sessions.close());
    const limits = { cancelMs: 10 };
    const agent = remoteAgent({ name: 'once', url: listening.url, fetch, limits });
    return createRunner({ agent, sessions });
  };
  const lost: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== 'POST') return response;
    await response.text();
    arrived.resolve();
    await once(init.signal!, 'abort');
    return response;
  };
  const controller = new AbortController();
  const dead = collect(process(lost).run({ ...at, message: 'go', signal: controller.signal }));
  dead.catch(() => undefined);
  await arrived.promise;
  const events = await collect(process(fetch).resume({ ...at, answers: [] }));
  assert.deepEqual(said(events), ['done']);
  assert.equal(executions, 1);
  controller.abort();
});

/** Asks one question, and says what it was told. */
function asks(name: string, options?: string[]): Agent {
  return customAgent({ name }, async function* (ctx) {
    const answer = ctx.answer('it');
    if (!answer) {
      yield ctx.question('it', { text: `${name}?`, ...(options && { options }) });
      return;
    }
    yield `${name}: ${JSON.stringify(answer.value)}`;
  });
}

async function bridged(t: TestContext, agent: Agent): Promise<string> {
  const listening = await serve(toA2AAgent(agent), { logger: quiet }).listen(0);
  t.after(() => listening.close());
  return listening.url;
}

test('a question of a bridged agent keeps its options, and its answer finds it', async (t) => {
  const url = await bridged(t, asks('city', ['Rome', 'Oslo']));
  const runner = createRunner({ agent: remoteAgent({ name: 'far', url }) });
  const [question] = asked(await collect(runner.run({ ...at, message: 'go' })));
  assert.deepEqual(
    [question?.kind, question?.text, question?.agent, question?.options],
    ['input', 'city?', 'far', ['Rome', 'Oslo']],
  );
  const answers = [{ questionId: question!.id, value: 'oslo' }];
  assert.deepEqual(said(await collect(runner.resume({ ...at, answers }))), ['city: "Oslo"']);
});

test('a confirmation that a remote tool wants is one of ours, and yes or no goes back', async (t) => {
  const calls: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ sum: z.number() }),
    confirm: true,
    run: ({ sum }) => void calls.push(sum),
  });
  const script = [{ call: { name: 'pay', args: { sum: 5 } } }];
  const model = scriptedModel([[...script], [{ text: 'one' }], [...script], [{ text: 'two' }]]);
  const url = await bridged(t, llmAgent({ name: 'payer', description: '', model, tools: [pay] }));
  const runner = createRunner({ agent: remoteAgent({ name: 'far', url }) });
  for (const confirmed of [false, true]) {
    const run = { ...at, runId: `confirmed ${confirmed}` };
    const [question] = asked(await collect(runner.run({ ...run, message: 'pay' })));
    assert.equal(question?.kind, 'confirmation');
    assert.match(question.text, /pay[^]*"sum":5/);
    assert.equal(question.tool, undefined, 'it is no tool of ours');
    const answers = [{ questionId: question.id, confirmed }];
    await collect(runner.resume({ ...run, answers }));
    assert.deepEqual(calls, confirmed ? [5] : []);
  }
});

test('a remote that wants an authorization asks for one', async (t) => {
  const agent = createAgent({ name: 'Vault', description: '' }, async function* (ctx) {
    const { text } = await ctx.ask('Log in at https://login.test', { auth: true });
    yield `opened with ${text}`;
  });
  const listening = await serve(agent, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const runner = createRunner({ agent: remoteAgent({ name: 'vault', url: listening.url }) });
  const [question] = asked(await collect(runner.run({ ...at, message: 'open' })));
  assert.deepEqual([question?.kind, question?.text], ['auth', 'Log in at https://login.test']);
  const answers = [{ questionId: question!.id, value: 'a code' }];
  assert.deepEqual(said(await collect(runner.resume({ ...at, answers }))), ['opened with a code']);
});

test('many runs of one remote agent at once do not mix', async (t) => {
  const echo = createAgent({ name: 'Echo', description: '' }, async function* (ctx) {
    yield `${ctx.text} `;
    const { text } = await ctx.ask(`${ctx.text}?`);
    yield text;
  });
  const listening = await serve(echo, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const runner = createRunner({ agent: remoteAgent({ name: 'echo', url: listening.url }) });
  const all = Array.from({ length: 100 }, async (_, n) => {
    const key = { user: `u${n % 7}`, session: `s${n}`, runId: 'r' };
    const first = await collect(runner.run({ ...key, message: `${n}` }));
    const [question] = asked(first);
    const answers = [{ questionId: question!.id, value: `answer ${n}` }];
    const rest = await collect(runner.resume({ ...key, answers }));
    return [question!.text, ...said(first), ...said(rest)];
  });
  assert.deepEqual(
    await Promise.all(all),
    Array.from({ length: 100 }, (_, n) => [`${n}?`, `${n} `, `answer ${n}`]),
  );
});

test('several questions of a remote are asked as several, and answered when the last one is', async (t) => {
  const both = parallelAgent({ name: 'both', subAgents: [asks('city'), asks('month')] });
  const url = await bridged(t, both);
  const agent = sequentialAgent({
    name: 'team',
    subAgents: [
      remoteAgent({ name: 'far', url }),
      customAgent({ name: 'after' }, async function* () {
        yield 'and done';
      }),
    ],
  });
  const runner = createRunner({ agent });
  const questions = asked(await collect(runner.run({ ...at, message: 'go' })));
  assert.deepEqual(questions.map(({ text }) => text).toSorted(), ['city?', 'month?']);
  const [city, month] = ['city?', 'month?'].map((text) => questions.find((q) => q.text === text)!);
  const half = await collect(
    runner.resume({ ...at, answers: [{ questionId: city!.id, value: 'Bern' }] }),
  );
  assert.deepEqual(
    asked(half).map(({ id }) => id),
    [month!.id],
    'the one that is open is asked again, and the sequence waits',
  );
  const rest = await collect(
    runner.resume({ ...at, answers: [{ questionId: month!.id, value: 'May' }] }),
  );
  const [far, after] = said(rest);
  assert.deepEqual(far?.split('\n\n').toSorted(), ['city: "Bern"', 'month: "May"']);
  assert.equal(after, 'and done');
});

test('an answer beside it does not wake a remote that still waits', async (t) => {
  const url = await bridged(t, asks('city'));
  const subAgents = [asks('near'), remoteAgent({ name: 'far', url })];
  const runner = createRunner({ agent: parallelAgent({ name: 'team', subAgents }) });
  const questions = asked(await collect(runner.run({ ...at, message: 'go' })));
  const near = questions.find(({ agent }) => agent === 'near')!;
  const far = questions.find(({ agent }) => agent === 'far')!;
  await collect(runner.resume({ ...at, answers: [{ questionId: near.id, value: 'here' }] }));
  const rest = await collect(
    runner.resume({ ...at, answers: [{ questionId: far.id, value: 'Bonn' }] }),
  );
  assert.deepEqual(said(rest), ['city: "Bonn"']);
});

test('remotes of remotes pass questions and answers through', async (t) => {
  const inner = await bridged(t, asks('city'));
  const outer = await bridged(t, remoteAgent({ name: 'middle', url: inner }));
  const runner = createRunner({ agent: remoteAgent({ name: 'far', url: outer }) });
  const [question] = asked(await collect(runner.run({ ...at, message: 'go' })));
  assert.equal(question?.text, 'city?');
  const rest = await collect(
    runner.resume({ ...at, answers: [{ questionId: question.id, value: 'Kiel' }] }),
  );
  assert.deepEqual(said(rest), ['city: "Kiel"']);
  assert.equal(noteOf(rest.at(-1)!)?.state, 'completed');
});
