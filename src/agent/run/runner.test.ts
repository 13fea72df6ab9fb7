import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../agent.ts';
import { customAgent } from '../agents/custom.ts';
import { llmAgent } from '../agents/llm.ts';
import { parallelAgent, sequentialAgent } from '../agents/workflow.ts';
import { contentText } from '../content.ts';
import type { Event } from '../event.ts';
import type { Model } from '../model.ts';
import { scriptedModel } from '../models/scripted.ts';
import type { Plugin } from '../plugin.ts';
import { resultOf } from './run-result.ts';
import { createRunner, type Runner, type RunnerOptions } from './runner.ts';
import type { SessionStore } from '../session.ts';
import { memorySessions } from '../sessions/memory.ts';
import { all, at, toolOf, words } from '../../../test/support/runs.ts';

function runnerOf(agent: Agent, options: Partial<RunnerOptions> = {}): Runner {
  return createRunner({ agent, app: 'app', ...options });
}

async function stored(runner: Runner): Promise<readonly Event[]> {
  const session = await runner.sessions.get({ app: 'app', user: 'ann', id: 's' });
  return session?.events ?? [];
}

/** A model that does not mind its signal. */
function deafModel(): Model & { asked: Promise<void> } {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  return {
    name: 'deaf',
    asked,
    async *generate() {
      resolve();
      yield await new Promise<never>(() => {});
    },
  };
}

const asking = customAgent({ name: 'asking' }, async function* (context) {
  const answer = context.answer('city');
  if (!answer) {
    yield context.question('city', { text: 'Which city?' });
    return;
  }
  yield `You said ${words(answer.value)}`;
});

test('an event is in the store before it is shown, and a partial one never is', async () => {
  const agent = customAgent({ name: 'a' }, async function* (context) {
    yield 'one ';
    yield 'two';
    yield context.event({ actions: { stateDelta: { done: true } } });
  });
  const runner = runnerOf(agent);
  const shown: string[] = [];
  for await (const event of runner.run({ ...at, message: 'go' })) {
    const ids = (await stored(runner)).map(({ id }) => id);
    assert.equal(ids.includes(event.id), event.partial !== true);
    shown.push(`${event.partial ? 'piece' : 'event'} ${contentText(event.content)}`);
  }
  assert.deepEqual(shown, ['piece one ', 'piece two', 'event one two', 'event ']);
});

test('what a child says is stored, also when the agent around it keeps it to itself', async () => {
  const child = customAgent({ name: 'child' }, async function* () {
    yield 'a secret';
  });
  const agent = customAgent({ name: 'a', subAgents: [child] }, async function* (context) {
    for await (const _ of context.run(child));
    yield `heard ${contentText(context.events.at(-1)?.content)}`;
  });
  const { text } = await runnerOf(agent).runToEnd({ ...at, message: 'go' });
  assert.equal(text, 'heard a secret');
});

test('an agent that another one runs twice does its work twice, in one segment and in two', async () => {
  const echo = customAgent({ name: 'echo' }, async function* (context) {
    yield context.path;
  });
  const agent = customAgent({ name: 'a', subAgents: [echo] }, async function* (context) {
    yield* context.run(echo);
    yield* context.run(echo);
  });
  const events = await all(runnerOf(agent).run({ ...at, message: 'go' }));
  const texts = events.filter(({ partial }) => !partial).map(({ content }) => contentText(content));
  assert.deepEqual(texts, ['a/echo', 'a/echo#2']);
});

test('an answer goes on with the run in a runner that knows only the store', async () => {
  const sessions = memorySessions();
  const first = await runnerOf(asking, { sessions }).runToEnd({ ...at, message: 'go' });
  const [question] = first.questions;
  assert.equal(question?.text, 'Which city?');
  const second = runnerOf(asking, { sessions });
  const { runId } = first;
  assert.deepEqual(await second.pending({ ...at, runId }), [question]);
  const answers = [{ questionId: question.id, value: 'Rome' }];
  const { text } = await resultOf(second.resume({ ...at, runId, answers }));
  assert.equal(text, 'You said Rome');
  assert.deepEqual(await second.pending({ ...at, runId }), []);
});

test('an answer that nobody waits for is refused, and nothing is stored', async () => {
  const runner = runnerOf(asking);
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  const other = await runner.runToEnd({ ...at, message: 'go', runId: 'other' });
  const questionId = questions[0]!.id;
  const before = await stored(runner);
  const refused = (options: { runId: string; ids: string[] }) =>
    assert.rejects(
      all(
        runner.resume({
          ...at,
          runId: options.runId,
          answers: options.ids.map((id) => ({ questionId: id, value: 'x' })),
        }),
      ),
      { name: 'RunError' },
    );
  await refused({ runId, ids: ['no such question'] });
  await refused({ runId, ids: [questionId, questionId] });
  await refused({ runId, ids: [questionId, 'no such question'] });
  await refused({ runId: 'no such run', ids: [questionId] });
  assert.deepEqual(await stored(runner), before);

  await all(runner.resume({ ...at, runId, answers: [{ questionId, value: 'Rome' }] }));
  const after = await stored(runner);
  await refused({ runId, ids: [questionId] });
  assert.deepEqual(await stored(runner), after);
  assert.equal((await runner.pending({ ...at, runId: other.runId })).length, 1);
});

test('of two answers to one question at the same time exactly one wins', async () => {
  const runner = runnerOf(asking);
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  const answer = (value: string) =>
    resultOf(runner.resume({ ...at, runId, answers: [{ questionId: questions[0]!.id, value }] }));
  const results = await Promise.allSettled([answer('Rome'), answer('Oslo')]);
  assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  const given = (await stored(runner)).flatMap(({ actions }) => actions.answers ?? []);
  assert.equal(given.length, 1);
});

test('of two processes that answer at the same time exactly one wins', async () => {
  const sessions = memorySessions();
  const first = runnerOf(asking, { sessions: viewOf(sessions) });
  const { runId, questions } = await first.runToEnd({ ...at, message: 'go' });
  const answer = (value: string) =>
    resultOf(
      runnerOf(asking, { sessions: viewOf(sessions) }).resume({
        ...at,
        runId,
        answers: [{ questionId: questions[0]!.id, value }],
      }),
    );
  const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map(answer));
  const won = results.filter(({ status }) => status === 'fulfilled');
  assert.equal(won.length, 1);
});

/** The same store as another object, so that nothing in this process ties its users together. */
function viewOf(store: SessionStore): SessionStore {
  return {
    open: (key, state) => store.open(key, state),
    get: (key) => store.get(key),
    append: (key, events) => store.append(key, events),
    list: (owner, page) => store.list(owner, page),
    delete: (key) => store.delete(key),
    close: () => store.close(),
  };
}

test('a run id is used once', async () => {
  const runner = runnerOf(asking);
  await runner.runToEnd({ ...at, message: 'go', runId: 'r' });
  await assert.rejects(runner.runToEnd({ ...at, message: 'go', runId: 'r' }), {
    code: 'run-exists',
  });
});

test('who answers one of two questions leaves the other one open', async () => {
  const ask = (name: string) =>
    customAgent({ name }, async function* (context) {
      const answer = context.answer('q');
      if (!answer) {
        yield context.question('q', { text: name });
        return;
      }
      yield `${name}: ${words(answer.value)}`;
    });
  const runner = runnerOf(parallelAgent({ name: 'both', subAgents: [ask('left'), ask('right')] }));
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  assert.deepEqual(
    questions.map(({ text }) => text),
    ['left', 'right'],
  );
  const answer = (index: number) =>
    resultOf(
      runner.resume({ ...at, runId, answers: [{ questionId: questions[index]!.id, value: 1 }] }),
    );
  const second = await answer(1);
  assert.equal(second.text, 'right: 1');
  assert.deepEqual(
    second.questions.map(({ text }) => text),
    ['left'],
  );
  const third = await answer(0);
  assert.equal(third.text, 'left: 1');
  assert.deepEqual(third.questions, []);
});

test('two people who answer different questions at the same time both get through', async () => {
  const ask = (name: string) =>
    customAgent({ name }, async function* (context) {
      if (!context.answer('q')) {
        yield context.question('q', { text: name });
        return;
      }
      yield name;
    });
  const runner = runnerOf(parallelAgent({ name: 'both', subAgents: [ask('left'), ask('right')] }));
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  await Promise.all(
    questions.map(({ id }) =>
      resultOf(runner.resume({ ...at, runId, answers: [{ questionId: id, value: 1 }] })),
    ),
  );
  const said = (await stored(runner)).map(({ content }) => contentText(content)).filter(Boolean);
  assert.deepEqual(said.toSorted(), ['go', 'left', 'right']);
});

test('an abort ends the run with its reason, whatever the model does', async () => {
  const model = deafModel();
  const stop = new AbortController();
  const runner = runnerOf(llmAgent({ name: 'a', model }));
  const run = all(runner.run({ ...at, message: 'go', signal: stop.signal }));
  await model.asked;
  stop.abort(new Error('enough'));
  await assert.rejects(run, /enough/);
});

test('an abort ends the run with its reason, whatever a tool does, and the tool is told', async () => {
  const { promise: called, resolve: call } = Promise.withResolvers<AbortSignal>();
  const deaf = toolOf('deaf', (_, { signal }) => {
    call(signal);
    return new Promise(() => {});
  });
  const model = scriptedModel([[{ call: { name: 'deaf' } }]]);
  const stop = new AbortController();
  const inner = llmAgent({ name: 'a', model, tools: [deaf] });
  const runner = runnerOf(
    sequentialAgent({
      name: 'outer',
      subAgents: [parallelAgent({ name: 'both', subAgents: [inner] })],
    }),
  );
  const run = all(runner.run({ ...at, message: 'go', signal: stop.signal }));
  const signal = await called;
  stop.abort(new Error('enough'));
  await assert.rejects(run, /enough/);
  assert.equal(signal.aborted, true);
});

test('an agent that was given up by the one that ran it adds nothing any more', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const slow = customAgent({ name: 'slow' }, async function* (context) {
    yield 'first';
    await released;
    try {
      yield context.event({ content: { role: 'model', parts: [{ kind: 'text', text: 'late' }] } });
    } finally {
      end();
    }
  });
  const agent = customAgent({ name: 'a', subAgents: [slow] }, async function* (context) {
    const patience = new AbortController();
    try {
      for await (const event of context.run(slow, { signal: patience.signal })) {
        yield event;
        // By then the next one is waited for.
        setImmediate(() => patience.abort(new Error('too slow')));
      }
    } catch (error) {
      yield `gave up: ${words(error instanceof Error && error.message)}`;
    }
    release();
    await over;
  });
  const runner = runnerOf(agent);
  const { text } = await runner.runToEnd({ ...at, message: 'go' });
  assert.equal(text, 'gave up: too slow');
  const said = (await stored(runner)).map(({ content }) => contentText(content));
  assert.ok(!said.includes('late'), said.join());
});

test('who leaves the iteration stops the work', async () => {
  const { promise: called, resolve: call } = Promise.withResolvers<AbortSignal>();
  const runner = runnerOf(
    customAgent({ name: 'a' }, async function* ({ signal }) {
      call(signal);
      yield 'one';
      yield 'two';
    }),
  );
  for await (const _ of runner.run({ ...at, message: 'go' })) break;
  assert.equal((await called).aborted, true);
});

test('a store that fails ends the iteration with its error', async () => {
  const store = memorySessions();
  const sessions: SessionStore = {
    ...viewOf(store),
    append: async (key, events) => {
      if (events.some(({ author }) => author === 'a')) throw new Error('disk full');
      return store.append(key, events);
    },
  };
  const agent = customAgent({ name: 'a' }, async function* () {
    yield 'one';
  });
  await assert.rejects(
    all(runnerOf(agent, { sessions }).run({ ...at, message: 'go' })),
    /disk full/,
  );
});

const endless = llmAgent({
  name: 'endless',
  tools: [toolOf('again', () => 'once more')],
  model: {
    name: 'endless',
    async *generate() {
      yield { kind: 'function-call', id: '', name: 'again', args: {} };
      yield { kind: 'finish', reason: 'tool-calls' };
    },
  },
});

function nested(depth: number): Agent {
  if (depth === 0) return asking;
  return sequentialAgent({ name: `level-${depth}`, subAgents: [nested(depth - 1)] });
}

const beyond: { limit: string; agent: Agent; limits: RunnerOptions['limits'] }[] = [
  { limit: 'step-limit', agent: endless, limits: { steps: 3 } },
  { limit: 'event-limit', agent: endless, limits: { events: 5 } },
  {
    limit: 'time-limit',
    agent: llmAgent({ name: 'a', model: deafModel() }),
    limits: { timeMs: 1 },
  },
  { limit: 'depth-limit', agent: nested(4), limits: { depth: 4 } },
];
for (const { limit, agent, limits = {} } of beyond) {
  test(`the ${limit} ends the run with an event that says so`, async () => {
    const runner = runnerOf(agent, { limits });
    const events = await all(runner.run({ ...at, message: 'go' }));
    assert.equal(events.at(-1)?.error?.code, limit);
    assert.equal((await stored(runner)).at(-1)?.error?.code, limit);
  });
}

test('what agents without a model say is no step, also after the run was taken up', async () => {
  const talker = customAgent({ name: 'talker' }, async function* (context) {
    if (context.checkpoint() === 'said') return;
    for (let index = 0; index < 5; index++) {
      yield context.event({ content: { role: 'model', parts: [{ kind: 'text', text: 'hm' }] } });
    }
    yield { actions: { checkpoint: { path: context.path, value: 'said' } } };
  });
  const writer = llmAgent({ name: 'writer', model: scriptedModel([[{ text: 'written' }]]) });
  const agent = sequentialAgent({ name: 'line', subAgents: [talker, asking, writer] });
  const runner = runnerOf(agent, { limits: { steps: 2 } });
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  const answers = [{ questionId: questions[0]!.id, value: 'Rome' }];
  const { text, error } = await resultOf(runner.resume({ ...at, runId, answers }));
  assert.deepEqual([text, error], ['written', undefined]);
});

test('an agent that throws ends the run with an event of its own', async () => {
  const bad = customAgent({ name: 'bad' }, async function* () {
    yield 'so far';
    throw new Error('oh no');
  });
  const runner = runnerOf(sequentialAgent({ name: 'root', subAgents: [bad, asking] }));
  const events = await all(runner.run({ ...at, message: 'go' }));
  assert.equal(events.at(-1)?.author, 'bad');
  assert.deepEqual(events.at(-1)?.error, { code: 'agent-failed', message: 'oh no' });
  const { runId } = events[0]!;
  await assert.rejects(all(runner.resume({ ...at, runId, answers: [] })), { code: 'not-open' });
});

test('two runs of one session at the same time do not see each other', async () => {
  const together = Promise.withResolvers<void>();
  let arrived = 0;
  const meet = toolOf('meet', async () => {
    if (++arrived === 2) together.resolve();
    await together.promise;
    return 'met';
  });
  const requests: string[] = [];
  const agent = llmAgent({
    name: 'a',
    tools: [meet],
    model: {
      name: 'm',
      async *generate({ messages }) {
        const kinds = messages.flatMap(({ parts }) => parts.map(({ kind }) => kind));
        requests.push(kinds.join(' '));
        if (kinds.at(-1) === 'text') {
          // Not unique, as some vendors' are not.
          yield { kind: 'function-call', id: 'call-1', name: 'meet', args: {} };
          yield { kind: 'finish', reason: 'tool-calls' };
        } else {
          yield { kind: 'text', text: 'done' };
          yield { kind: 'finish', reason: 'stop' };
        }
      },
    },
  });
  const runner = runnerOf(agent);
  const results = await Promise.all(
    ['one', 'two'].map((message) => runner.runToEnd({ ...at, message })),
  );
  assert.deepEqual(
    results.map(({ text }) => text),
    ['done', 'done'],
  );
  for (const kinds of requests) {
    assert.equal(
      kinds.split('function-call').length,
      kinds.split('function-response').length,
      kinds,
    );
  }
});

test('a run goes on with the agent that it began with, whoever had the conversation meanwhile', async () => {
  const call = { name: 'transfer_to_agent', args: { agent_name: 'expert' } };
  const ask = toolOf(
    'ask',
    (_, context) => context.answer?.value ?? context.ask({ text: 'Well?' }),
  );
  const expert = llmAgent({ name: 'expert', model: scriptedModel([[{ text: 'It is 42.' }]]) });
  const root = llmAgent({
    name: 'root',
    model: scriptedModel([[{ call }], [{ call: { name: 'ask' } }], [{ text: 'Thank you.' }]]),
    tools: [ask],
    subAgents: [expert],
  });
  const held = Promise.withResolvers<void>();
  const hold: Plugin = {
    name: 'hold',
    onUserMessage: (_, { runId }) => (runId === 'slow' ? held.promise : undefined),
  };
  const runner = runnerOf(root, { plugins: [hold] });
  const slow = runner.runToEnd({ ...at, message: 'first', runId: 'slow' });
  await runner.runToEnd({ ...at, message: 'second' });
  held.resolve();
  const { questions } = await slow;
  const answers = [{ questionId: questions[0]!.id, value: 'well' }];
  const events = await all(runner.resume({ ...at, runId: 'slow', answers }));
  assert.deepEqual(
    events.filter(({ partial }) => partial !== true).map(({ author }) => author),
    ['root', 'root'],
  );
});

test('state that a run is given is there for the agent, and state that it sets is there for the next run', async () => {
  const agent = customAgent({ name: 'a' }, async function* ({ state }) {
    const count = Number(state.get('count') ?? 0) + 1;
    state.set('count', count);
    state.set('temp:once', true);
    yield `${words(state.get('name'))} ${count}`;
  });
  const runner = runnerOf(agent);
  const first = await runner.runToEnd({ ...at, message: 'go', state: { name: 'Ann' } });
  const second = await runner.runToEnd({ ...at, message: 'go' });
  assert.deepEqual([first.text, second.text], ['Ann 1', 'Ann 2']);
  const session = await runner.sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.deepEqual(session?.state, { name: 'Ann', count: 2 });
});

test('what an agent sets after its last event is stored all the same', async () => {
  const agent = customAgent({ name: 'a' }, async function* ({ state }) {
    yield 'said';
    state.set('late', true);
  });
  const runner = runnerOf(agent);
  await runner.runToEnd({ ...at, message: 'go' });
  const session = await runner.sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.deepEqual(session?.state, { late: true });
});
