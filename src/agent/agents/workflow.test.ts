import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent, RunContext } from '../agent.ts';
import { contentText } from '../content.ts';
import { resultOf } from '../run/run-result.ts';
import { createRunner, type Runner } from '../run/runner.ts';
import { customAgent } from './custom.ts';
import { loopAgent, parallelAgent, sequentialAgent } from './workflow.ts';
import { all, at, words } from '../../../test/support/runs.ts';

function says(name: string, say: (context: RunContext) => string = () => name): Agent {
  return customAgent({ name }, async function* (context) {
    yield say(context);
  });
}

function asks(name: string): Agent {
  return customAgent({ name }, async function* (context) {
    const answer = context.answer('q');
    if (!answer) {
      yield context.question('q', { text: name });
      return;
    }
    yield `${name} ${words(answer.value)}`;
  });
}

const escalates = (name: string, when: (context: RunContext) => boolean): Agent =>
  customAgent({ name }, async function* (context) {
    yield when(context) ? { actions: { escalate: true } } : name;
  });

const textsSeen = (context: RunContext): string =>
  context.events
    .map(({ content }) => contentText(content))
    .filter(Boolean)
    .join(' ');

async function said(runner: Runner): Promise<string[]> {
  const session = await runner.sessions.get({ app: runner.app, user: 'ann', id: 's' });
  return (session?.events ?? []).map(({ content }) => contentText(content)).filter(Boolean);
}

async function saidBy(agent: Agent): Promise<string[]> {
  const runner = createRunner({ agent });
  await runner.runToEnd({ ...at, message: 'go' });
  return said(runner);
}

test('a sequence runs its agents in order, and each sees those before it', async () => {
  const agent = sequentialAgent({ name: 'seq', subAgents: [says('a'), says('b', textsSeen)] });
  assert.deepEqual(await saidBy(agent), ['go', 'a', 'go a']);
});

test('a sequence that waits goes on with the agent that waited, and repeats nothing', async () => {
  const agent = sequentialAgent({ name: 'seq', subAgents: [says('a'), asks('b'), says('c')] });
  const runner = createRunner({ agent });
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  assert.deepEqual(await said(runner), ['go', 'a']);
  const answers = [{ questionId: questions[0]!.id, value: 1 }];
  await resultOf(runner.resume({ ...at, runId, answers }));
  assert.deepEqual(await said(runner), ['go', 'a', 'b 1', 'c']);
});

test('a sequence ends where an agent escalates', async () => {
  const agent = sequentialAgent({
    name: 'seq',
    subAgents: [says('a'), escalates('b', () => true), says('c')],
  });
  assert.deepEqual(await saidBy(agent), ['go', 'a']);
});

test('a loop goes round until its iterations are used up', async () => {
  const agent = loopAgent({
    name: 'loop',
    maxIterations: 2,
    subAgents: [says('a', ({ path }) => path), says('b', ({ path }) => path)],
  });
  assert.deepEqual(await saidBy(agent), ['go', 'loop#1/a', 'loop#1/b', 'loop#2/a', 'loop#2/b']);
});

test('a loop ends where an agent escalates, and only that loop', async () => {
  const inner = loopAgent({
    name: 'inner',
    subAgents: [says('a'), escalates('b', () => true), says('never')],
  });
  const agent = loopAgent({ name: 'outer', maxIterations: 2, subAgents: [inner, says('c')] });
  assert.deepEqual(await saidBy(agent), ['go', 'a', 'c', 'a', 'c']);
});

test('an agent deep inside a sequence ends the loop around it', async () => {
  const seq = sequentialAgent({ name: 'seq', subAgents: [escalates('a', () => true), says('b')] });
  const agent = loopAgent({ name: 'loop', subAgents: [seq, says('c')] });
  assert.deepEqual(await saidBy(agent), ['go']);
});

test('a loop that waits in its second round goes on there', async () => {
  const second = customAgent({ name: 'b' }, async function* (context) {
    const waits = context.path.startsWith('loop#2/') && !context.answer('q');
    yield waits ? context.question('q', { text: '?' }) : context.path;
  });
  const agent = loopAgent({ name: 'loop', maxIterations: 3, subAgents: [says('a'), second] });
  const runner = createRunner({ agent });
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  await resultOf(runner.resume({ ...at, runId, answers: [{ questionId: questions[0]!.id }] }));
  assert.deepEqual(await said(runner), ['go', 'a', 'loop#1/b', 'a', 'loop#2/b', 'a', 'loop#3/b']);
});

test('agents side by side do not see each other, and whoever comes after them sees both', async () => {
  const team = parallelAgent({
    name: 'team',
    subAgents: [
      sequentialAgent({ name: 'l', subAgents: [says('left'), says('left2', textsSeen)] }),
      sequentialAgent({ name: 'r', subAgents: [says('right'), says('right2', textsSeen)] }),
    ],
  });
  const agent = sequentialAgent({ name: 'seq', subAgents: [team, says('after', textsSeen)] });
  const texts = await saidBy(agent);
  assert.ok(texts.includes('go left'));
  assert.ok(texts.includes('go right'));
  const last = texts.at(-1) ?? '';
  for (const word of ['left', 'right']) assert.ok(last.includes(word), last);
});

test('agents side by side have branches that are named after them', async () => {
  const agent = parallelAgent({ name: 'team', subAgents: [says('left'), says('right')] });
  const events = await all(createRunner({ agent }).run({ ...at, message: 'go' }));
  const branches = new Set(events.map(({ author, branch }) => `${author} ${branch}`));
  assert.deepEqual([...branches].toSorted(), [
    'left team.left',
    'right team.right',
    'team undefined',
  ]);
});

test('an agent that waits does not hold those beside it, and they do not run again', async () => {
  const agent = parallelAgent({ name: 'team', subAgents: [asks('left'), says('right')] });
  const runner = createRunner({ agent });
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  assert.deepEqual(await said(runner), ['go', 'right']);
  await resultOf(
    runner.resume({ ...at, runId, answers: [{ questionId: questions[0]!.id, value: 1 }] }),
  );
  assert.deepEqual(await said(runner), ['go', 'right', 'left 1']);
});

test('when an agent fails those beside it are told to stop, and the run is over', async () => {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const patient = customAgent({ name: 'patient' }, async function* ({ signal }) {
    yield 'here';
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve());
    });
    stop();
  });
  const bad = customAgent({ name: 'bad' }, async function* () {
    yield 'so far';
    throw new Error('oh no');
  });
  const runner = createRunner({
    agent: parallelAgent({ name: 'team', subAgents: [patient, bad] }),
  });
  const { error } = await runner.runToEnd({ ...at, message: 'go' });
  assert.equal(error?.message, 'oh no');
  await stopped;
});

test('an agent goes on only after its last event was stored', async () => {
  const agent = parallelAgent({
    name: 'team',
    subAgents: ['left', 'right'].map((name) =>
      customAgent({ name }, async function* (context) {
        for (let index = 0; index < 3; index++) {
          const event = context.event({ content: { role: 'model', parts: [] } });
          yield event;
          assert.equal(context.events.at(-1)?.id, event.id);
        }
      }),
    ),
  });
  const { error } = await createRunner({ agent }).runToEnd({ ...at, message: 'go' });
  assert.equal(error, undefined);
});

test('the result of agents side by side is the last answer of each, as the bridge has it', async () => {
  const team = parallelAgent({ name: 'team', subAgents: [says('left'), says('right')] });
  const asked = { ...at, message: 'go' };
  assert.equal((await createRunner({ agent: team }).runToEnd(asked)).text, 'left\n\nright');
  // An answer after them is the result.
  const sum = sequentialAgent({ name: 'sum', subAgents: [team, says('total')] });
  assert.equal((await createRunner({ agent: sum }).runToEnd(asked)).text, 'total');
});
