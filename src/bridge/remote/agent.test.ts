// A remote agent as a local one: real servers of ours and of the official SDKs, in both versions of the wire.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { customAgent } from '../../agent/agents/custom.ts';
import { llmAgent } from '../../agent/agents/llm.ts';
import { scriptedModel } from '../../agent/models/scripted.ts';
import { loopAgent, parallelAgent, sequentialAgent } from '../../agent/agents/workflow.ts';
import type { Agent } from '../../agent/agent.ts';
import { contentText } from '../../agent/content.ts';
import type { Event } from '../../agent/event.ts';
import { createRunner } from '../../agent/run/runner.ts';
import { connect, local } from '../../client/index.ts';
import { VERSIONS, type Message } from '../../protocol/index.ts';
import { createAgent, serve, type ServeOptions } from '../../server.ts';
import { bearerTokens } from '../../http/admission.ts';
import { createGates, quiet, within } from '../../../test/interop/support.ts';
import { startSdk03 } from '../../../test/interop/sdk-03-server.ts';
import { startSdk1 } from '../../../test/interop/sdk-1-server.ts';
import type { AgentContext, Yielded } from '../../tasks/execution/agent.ts';
import { noteOf } from './note.ts';
import { remoteAgent, type RemoteAgentOptions } from './agent.ts';

type Behaviour = (context: AgentContext) => AsyncIterable<Yielded>;

async function remote(t: TestContext, run: Behaviour, options: ServeOptions = {}) {
  const agent = createAgent({ name: 'Remote', description: 'Somewhere else' }, run);
  const listening = await serve(agent, { logger: quiet, ...options }).listen(0);
  t.after(() => listening.close());
  return listening;
}

const at = { user: 'ann', session: 's' };

/** Runs to the end, and returns every event. */
async function collect(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function said(events: readonly Event[], partial = false): string[] {
  return events
    .filter((event) => (event.partial === true) === partial && event.content !== undefined)
    .map(({ content }) => contentText(content));
}

function says(name: string, text: string): Agent {
  return customAgent({ name }, async function* () {
    yield text;
  });
}

/** An agent that remembers the messages that it got. */
function remembering() {
  const heard: Message[] = [];
  const run: Behaviour = async function* (context) {
    heard.push(context.message);
    yield 'noted';
  };
  return { heard, run };
}

const texts = ({ parts }: Message) => parts.map((part) => part.kind === 'text' && part.text);

for (const version of VERSIONS) {
  test(`${version}: an answer comes in pieces and then once as a whole`, async (t) => {
    const { url } = await remote(t, async function* () {
      yield 'Sunny ';
      yield 'in Paris';
    });
    const agent = remoteAgent({ name: 'weather', url, version });
    const events = await collect(createRunner({ agent }).run({ ...at, message: 'Paris?' }));
    assert.deepEqual(said(events, true), ['Sunny ', 'in Paris']);
    assert.deepEqual(
      said(events),
      ['Sunny in Paris'],
      'what the last status repeats is not said twice',
    );
    assert.ok(events.every(({ author }) => author === 'weather'));
    const ids = events.filter(({ content }) => content).map(({ id }) => id);
    assert.deepEqual([ids.length, new Set(ids).size], [3, 1], 'pieces have the id of the whole');
  });

  test(`${version}: a question is one of the run, and its answer goes to the same task`, async (t) => {
    const tasks: string[] = [];
    const { url } = await remote(t, async function* (ctx) {
      tasks.push(ctx.task.id);
      yield 'Let me see. ';
      const { text } = await ctx.ask('Which city?');
      yield `Sunny in ${text}`;
    });
    const runner = createRunner({ agent: remoteAgent({ name: 'weather', url, version }) });
    const first = await collect(runner.run({ ...at, message: 'Weather?', runId: 'r' }));
    assert.deepEqual(said(first), ['Let me see. ']);
    const [question] = first.flatMap(({ actions }) => actions.questions ?? []);
    assert.equal(question?.text, 'Which city?');
    assert.equal(question.agent, 'weather');
    const answers = [{ questionId: question.id, value: 'Rome' }];
    const rest = await collect(runner.resume({ ...at, runId: 'r', answers }));
    assert.deepEqual(said(rest), ['Sunny in Rome'], 'what was said before is not said again');
    assert.equal(tasks.length, 1);
  });

  test(`${version}: without streaming it is asked until it is done, and asks as well`, async (t) => {
    const { url } = await remote(
      t,
      async function* (ctx) {
        const { text } = await ctx.ask('Which city?');
        yield `Sunny in ${text}`;
      },
      { card: { capabilities: { streaming: false } } },
    );
    const runner = createRunner({ agent: remoteAgent({ name: 'weather', url, version }) });
    const first = await collect(runner.run({ ...at, message: 'Weather?', runId: 'r' }));
    const [question] = first.flatMap(({ actions }) => actions.questions ?? []);
    const answers = [{ questionId: question!.id, value: 'Rome' }];
    assert.deepEqual(said(await collect(runner.resume({ ...at, runId: 'r', answers }))), [
      'Sunny in Rome',
    ]);
  });
}

test('it hears only what it has not heard, the user as he speaks and other agents as context', async (t) => {
  const { heard, run } = remembering();
  const { url } = await remote(t, run);
  const agent = sequentialAgent({
    name: 'team',
    subAgents: [says('planner', 'A plan.'), remoteAgent({ name: 'worker', url })],
  });
  const runner = createRunner({ agent });
  await collect(runner.run({ ...at, message: 'First' }));
  await collect(runner.run({ ...at, message: 'Second' }));
  assert.deepEqual(heard.map(texts), [
    ['First', '\n\n[planner] said: A plan.'],
    ['Second', '\n\n[planner] said: A plan.'],
  ]);
  assert.deepEqual(heard[0]!.parts[1]!.metadata, { 'parley.context': { author: 'planner' } });
  assert.equal(heard[0]!.parts[0]!.metadata, undefined);
  assert.equal(heard[0]!.contextId, heard[1]!.contextId, 'one conversation for the session');
  assert.notEqual(heard[0]!.taskId, heard[1]!.taskId, 'a new task for each turn');
});

test('agents beside it, in other branches, it does not hear', async (t) => {
  const { heard, run } = remembering();
  const { url } = await remote(t, run);
  const subAgents = [says('left', 'L'), remoteAgent({ name: 'right', url })];
  const runner = createRunner({ agent: parallelAgent({ name: 'team', subAgents }) });
  await collect(runner.run({ ...at, message: 'First' }));
  await collect(runner.run({ ...at, message: 'Second' }));
  assert.deepEqual(heard.map(texts), [['First'], ['Second']]);
});

test('a model may hand the conversation over to it, and none of its calls are told', async (t) => {
  const { heard, run } = remembering();
  const { url } = await remote(t, run);
  const call = { name: 'transfer_to_agent', args: { agent_name: 'worker' } };
  const model = scriptedModel([[{ text: 'One moment. ' }, { call }]]);
  const subAgents = [remoteAgent({ name: 'worker', description: 'Works', url })];
  const runner = createRunner({ agent: llmAgent({ name: 'boss', model, subAgents }) });
  const events = await collect(runner.run({ ...at, message: 'Work!' }));
  assert.deepEqual(heard.map(texts), [['Work!', '\n\n[boss] said: One moment. ']]);
  assert.equal(said(events).at(-1), 'noted');
});

test('two sessions are two conversations', async (t) => {
  const { heard, run } = remembering();
  const { url } = await remote(t, run);
  const runner = createRunner({ agent: remoteAgent({ name: 'worker', url }) });
  for (const session of ['a', 'b']) {
    await collect(runner.run({ user: 'ann', session, message: 'Hello' }));
  }
  assert.notEqual(heard[0]!.contextId, heard[1]!.contextId);
});

test('a loop ends quietly with a remote that has heard everything', async (t) => {
  const { heard, run } = remembering();
  const { url } = await remote(t, run);
  const subAgents = [remoteAgent({ name: 'worker', url })];
  const runner = createRunner({ agent: loopAgent({ name: 'loop', subAgents, maxIterations: 3 }) });
  await collect(runner.run({ ...at, message: 'Go' }));
  assert.equal(heard.length, 1);
});

test('thoughts stay thoughts, files become files, and what a status says meanwhile is a thought', async (t) => {
  const { url } = await remote(t, async function* () {
    yield { kind: 'status-update', state: 'working', message: 'Looking' };
    yield { kind: 'text', text: 'Hm', metadata: { 'parley.thought': true } };
    yield 'Here';
    yield { kind: 'file', file: { bytes: 'aGk=', mimeType: 'text/plain', name: 'hi.txt' } };
    yield { kind: 'file', file: { uri: 'https://files.test/a' } };
  });
  const runner = createRunner({ agent: remoteAgent({ name: 'r', url }) });
  const events = await collect(runner.run({ ...at, message: 'Go' }));
  assert.deepEqual(events.findLast(({ content }) => content)?.content?.parts, [
    { kind: 'thought', text: 'Looking' },
    { kind: 'thought', text: 'Hm' },
    { kind: 'text', text: 'Here' },
    { kind: 'blob', mediaType: 'text/plain', data: 'aGk=', name: 'hi.txt' },
    { kind: 'file', uri: 'https://files.test/a' },
  ]);
});

test('a message without a task is an answer', async (t) => {
  const options = { name: 'Ping', description: '', reply: () => 'pong' };
  const listening = await serve(
    createAgent(options, async function* () {}),
    { logger: quiet },
  ).listen(0);
  t.after(() => listening.close());
  const agent = remoteAgent({ name: 'ping', url: listening.url });
  const events = await collect(createRunner({ agent }).run({ ...at, message: 'ping' }));
  assert.deepEqual(said(events), ['pong']);
});

test('a client of an agent in the same process will do', async () => {
  const { handler } = serve(
    createAgent({ name: 'Near', description: '' }, async function* (ctx) {
      yield `You said ${ctx.text}`;
    }),
    { logger: quiet },
  );
  const agent = remoteAgent({ name: 'near', client: local(handler) });
  const events = await collect(createRunner({ agent }).run({ ...at, message: 'hi' }));
  assert.deepEqual(said(events), ['You said hi']);
});

test('credentials are made for each request, for the session that it belongs to', async (t) => {
  const tokens = new Map([
    ['ann', 'one'],
    ['bob', 'two'],
  ]);
  const { url } = await remote(
    t,
    async function* (ctx) {
      yield `for ${ctx.user?.id}`;
    },
    { authenticate: bearerTokens(tokens) },
  );
  const asked: string[] = [];
  const agent = remoteAgent({
    name: 'r',
    url,
    async headers({ session, method }) {
      asked.push(`${method} ${session.user}`);
      return { Authorization: `Bearer ${session.user === 'ann' ? 'one' : 'two'}` };
    },
  });
  const runner = createRunner({ agent });
  const spoken: string[] = [];
  for (const user of ['ann', 'bob']) {
    spoken.push(...said(await collect(runner.run({ user, session: 's', message: 'hi' }))));
  }
  assert.deepEqual(spoken, ['for ann', 'for bob']);
  assert.deepEqual(asked, ['GET ann', 'POST ann', 'POST bob'], 'the card is looked for once');
});

test('wrong credentials end the run with an error that says so', async (t) => {
  const { url } = await remote(t, async function* () {}, {
    authenticate: bearerTokens(new Map([['ann', 'good']])),
  });
  const runner = createRunner({ agent: remoteAgent({ name: 'r', url }) });
  const { error } = (await collect(runner.run({ ...at, message: 'hi' }))).at(-1)!;
  assert.equal(error?.code, 'remote-unauthorized');
});

test('an agent that would verify its card without keys cannot be made', () => {
  const options = { name: 'remote', url: 'https://agent.example', verify: { keys: undefined } };
  assert.throws(() => remoteAgent(options), { name: 'TypeError', message: /`verify` has no keys/ });
});

test('the card describes it only where nobody else does', async (t) => {
  const { url } = await remote(t, async function* () {});
  const [silent, spoken] = [
    remoteAgent({ name: 'silent', url }),
    remoteAgent({ name: 'spoken', description: 'Ours', url }),
  ];
  assert.equal(silent.description, '');
  const agent = sequentialAgent({ name: 'both', subAgents: [silent, spoken] });
  await collect(createRunner({ agent }).run({ ...at, message: 'hi' }));
  assert.equal(silent.description, 'Somewhere else');
  assert.equal(spoken.description, 'Ours');
});

for (const [state, code] of [
  ['failed', 'remote-failed'],
  ['rejected', 'remote-rejected'],
  ['canceled', 'remote-canceled'],
] as const) {
  test(`a remote that ends ${state} ends the run, with its words quoted and short`, async (t) => {
    const { url } = await remote(t, async function* () {
      yield 'half an ans';
      yield { kind: 'status-update', state, message: `no\n\u202e${'x'.repeat(5000)}` };
    });
    const runner = createRunner({ agent: remoteAgent({ name: 'r', url }) });
    const events = await collect(runner.run({ ...at, message: 'hi' }));
    const { error } = events.at(-1)!;
    assert.equal(error?.code, code);
    assert.match(
      error.message,
      /^the remote agent r: its task ended in the state \w+, with the message: no x+…$/,
    );
    assert.ok(error.message.length < 700);
    assert.deepEqual(said(events), [], 'half an answer is none');
  });
}

test('an abort cancels the remote task, and goes up', async (t) => {
  const aborted = Promise.withResolvers<void>();
  const { url } = await remote(t, async function* (ctx) {
    yield 'begun';
    await once(ctx.signal, 'abort');
    aborted.resolve();
  });
  const runner = createRunner({ agent: remoteAgent({ name: 'r', url }) });
  const controller = new AbortController();
  const why = new Error('enough');
  await assert.rejects(async () => {
    for await (const event of runner.run({ ...at, message: 'hi', signal: controller.signal })) {
      if (event.partial === true) controller.abort(why);
    }
  }, why);
  await within('the remote to be canceled', aborted.promise);
});

test('an abort before the task is known cancels it once it is', async (t) => {
  const sent = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const { url } = await remote(t, async function* (ctx) {
    yield 'begun';
    if (!ctx.signal.aborted) await once(ctx.signal, 'abort');
    aborted.resolve();
  });
  // Holds the answer's head back until the run has been aborted.
  const controller = new AbortController();
  const slow: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === 'POST' && !controller.signal.aborted) {
      sent.resolve();
      await once(controller.signal, 'abort');
    }
    return response;
  };
  const runner = createRunner({ agent: remoteAgent({ name: 'r', url, fetch: slow }) });
  const run = collect(runner.run({ ...at, message: 'hi', signal: controller.signal }));
  await sent.promise;
  controller.abort(new Error('enough'));
  await assert.rejects(run, /enough/);
  await within('the remote to be canceled', aborted.promise);
});

test('whoever leaves the run early cancels the remote task', async (t) => {
  const aborted = Promise.withResolvers<void>();
  const { url } = await remote(t, async function* (ctx) {
    yield 'begun';
    await once(ctx.signal, 'abort');
    aborted.resolve();
  });
  const runner = createRunner({ agent: remoteAgent({ name: 'r', url }) });
  for await (const event of runner.run({ ...at, message: 'hi' })) if (event.partial) break;
  await within('the remote to be canceled', aborted.promise);
});

test('a message after an unanswered question goes to the task that asked', async (t) => {
  const { url } = await remote(t, async function* (ctx) {
    const { text } = await ctx.ask('Which city?');
    yield `Sunny in ${text}`;
  });
  const runner = createRunner({ agent: remoteAgent({ name: 'r', url }) });
  await collect(runner.run({ ...at, message: 'Weather?' }));
  const events = await collect(runner.run({ ...at, message: 'Oslo' }));
  assert.deepEqual(said(events), ['Sunny in Oslo']);
});

test('a remote that continues gets the next message for the same task, and repeats nothing', async (t) => {
  const tasks: string[] = [];
  const options = { name: 'On', description: '', continues: true };
  const agent = createAgent(options, async function* (ctx) {
    tasks.push(ctx.task.id);
    yield `heard ${ctx.text}`;
  });
  const listening = await serve(agent, { logger: quiet }).listen(0);
  t.after(() => listening.close());
  const on = remoteAgent({ name: 'on', url: listening.url, continues: true });
  const runner = createRunner({ agent: on });
  const spoken: string[] = [];
  for (const message of ['one', 'two', 'three']) {
    spoken.push(...said(await collect(runner.run({ ...at, message }))));
  }
  assert.deepEqual(spoken, ['heard one', 'heard two', 'heard three']);
  assert.equal(new Set(tasks).size, 1);
});

test('a message whose connection breaks is an error, and goes along with the next message', async (t) => {
  const options = { name: 'On', description: '', continues: true };
  const agent = createAgent(options, async function* (ctx) {
    yield `heard ${ctx.text}`;
  });
  const server = serve(agent, { logger: quiet });
  let posts = 0;
  const http = createServer((request, response) => {
    if (request.method === 'POST' && ++posts === 2) request.socket.destroy();
    else server.node(request, response);
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  t.after(async () => {
    http.close();
    await server.close();
  });
  const { port } = http.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const runner = createRunner({ agent: remoteAgent({ name: 'on', url, continues: true }) });
  await collect(runner.run({ ...at, message: 'one' }));
  const [lost] = (await collect(runner.run({ ...at, message: 'two' }))).slice(-1);
  assert.ok(lost?.error);
  const [text = ''] = said(await collect(runner.run({ ...at, message: 'three' })));
  assert.match(text, /two/);
  assert.match(text, /three/);
});

test('a message for a task that is over by now begins a new one', async (t) => {
  const { url } = await remote(t, async function* (ctx) {
    if (ctx.text === 'Weather?') await ctx.ask('Which city?');
    yield `heard ${ctx.text}`;
  });
  const runner = createRunner({ agent: remoteAgent({ name: 'r', url }) });
  const first = await collect(runner.run({ ...at, message: 'Weather?' }));
  const { taskId } = noteOf(first.at(-1)!)!;
  assert.ok(taskId !== undefined);
  const client = await connect(url);
  await client.cancel(taskId);
  const events = await collect(runner.run({ ...at, message: 'Never mind' }));
  assert.deepEqual(said(events), ['heard Never mind']);
});

const PEERS: Record<string, (t: TestContext) => Promise<RemoteAgentOptions>> = {
  'SDK 1.3, version 1.0': async (t) => ({ name: 'r', ...(await startSdk1(t, createGates())) }),
  'SDK 1.3, version 0.3': async (t) => ({
    name: 'r',
    version: '0.3',
    ...(await startSdk1(t, createGates())),
  }),
  'SDK 0.3': async (t) => ({ name: 'r', ...(await startSdk03(t, createGates())) }),
};

for (const [peer, start] of Object.entries(PEERS)) {
  test(`${peer}: streams, asks, takes the answer, answers directly, and rejects`, async (t) => {
    const runner = createRunner({ agent: remoteAgent(await start(t)) });
    const counted = await collect(runner.run({ ...at, message: 'count 3' }));
    assert.deepEqual(said(counted, true).join(''), '1 2 3 \n\nall done');
    assert.deepEqual(said(counted), ['1 2 3 \n\nall done']);

    const asked = await collect(runner.run({ ...at, message: 'ask', runId: 'r' }));
    const [question] = asked.flatMap(({ actions }) => actions.questions ?? []);
    assert.equal(question?.text, 'Which city?');
    const answers = [{ questionId: question.id, value: 'Bern' }];
    const answered = await collect(runner.resume({ ...at, runId: 'r', answers }));
    assert.deepEqual(said(answered), ['Sunny in Bern\n\nall done']);

    assert.deepEqual(said(await collect(runner.run({ ...at, message: 'ping' }))), ['pong']);
    const rejected = await collect(runner.run({ ...at, message: 'reject' }));
    assert.equal(rejected.at(-1)?.error?.code, 'remote-rejected');
  });
}
