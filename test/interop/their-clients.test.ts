/** The SDKs' clients against our server: each scenario, over each version and binding that they speak. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { bearerTokens } from '../../src/server.ts';
import { EXTENSION, PNG } from './agent.ts';
import { start } from './served-peer.ts';
import { sdk03 } from './sdk-03-client.ts';
import { sdk1, sdk1Speaking03 } from './sdk-1-client.ts';
import {
  artifactText,
  short,
  taskOf,
  type Peer,
  type PeerClient,
  type Seen,
  type SeenTask,
} from './seen.ts';
import { collect, refusal, startWebhook, until, within, type Delivered } from './support.ts';
import { noteScenario } from './operations.ts';

const PEERS: readonly Peer[] = [sdk1, sdk03, sdk1Speaking03].flatMap((peer) =>
  (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).map((binding) => peer(binding)),
);

async function read(stream: AsyncIterable<Seen>): Promise<Seen[]> {
  return within('a stream', collect(stream));
}

/** Begins a task that waits for the test, and returns it as soon as it works. */
async function hold(client: PeerClient, key: string): Promise<SeenTask> {
  const task = taskOf(await client.send({ text: `hold ${key}`, blocking: false }));
  return until(
    'the task works',
    () => client.get(task.id),
    (now) => now.state === 'working' && artifactText(now) === 'begun ',
  );
}

const SCENARIOS: Record<string, (t: TestContext, peer: Peer) => Promise<void>> = {
  async 'finds the card at the plain address, and its way from there'(t, peer) {
    const { url, connect } = await start(t, peer);
    const { card, endpoint } = await connect();
    assert.deepEqual(card, {
      name: 'Interop',
      description: 'Does what it is told',
      streaming: true,
      push: true,
      extensions: [EXTENSION],
      skills: ['obey'],
    });
    assert.equal(endpoint, `${url} ${peer.binding} ${peer.version}`);
  },

  async 'gets a Message for an answer'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const pong = { kind: 'message', role: 'agent', text: 'pong' } as const;
    assert.deepEqual(await client.send({ text: 'ping' }), pong);
    assert.deepEqual(await read(client.stream({ text: 'ping' })), [pong]);
  },

  async 'gets a finished Task for an answer'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const task = taskOf(await client.send({ text: 'count 3', contextId: 'my-context' }));
    assert.equal(task.state, 'completed');
    assert.equal(task.contextId, 'my-context');
    assert.equal(artifactText(task), '1 2 3 ');
    assert.equal(task.says, '', 'the answer is said once');
    assert.deepEqual(task.history, ['user: count 3']);
  },

  async 'need not wait for the task'(t, peer) {
    const { connect, gates } = await start(t, peer);
    const client = await connect();
    const task = taskOf(await client.send({ text: 'hold a', blocking: false }));
    assert.ok(['submitted', 'working'].includes(task.state), task.state);
    gates.open('a');
    const done = await until(
      'the end',
      () => client.get(task.id),
      ({ state }) => state === 'completed',
    );
    assert.equal(artifactText(done), 'begun done');
  },

  async 'streams every event in order, to the end'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const events = await read(client.stream({ text: 'count 4' }));
    assert.deepEqual(events.map(short), [
      'task submitted',
      'working',
      '"1 "',
      '"2 "',
      '"3 "',
      '"4 "',
      'completed',
    ]);
    const { id } = taskOf(events[0]!);
    assert.ok(events.every((event) => !('taskId' in event) || event.taskId === id));
  },

  async 'gets as much history as it asks for'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const { id } = taskOf(await client.send({ text: 'ask' }));
    await client.send({ text: 'Rome', taskId: id });
    const all = ['user: ask', 'agent: Which city?', 'user: Rome'];
    assert.deepEqual((await client.get(id)).history, all);
    assert.deepEqual((await client.get(id, 2)).history, all.slice(1));
    // In the protobuf definition of 0.3, zero means no limit.
    const isLimit = peer.binding !== 'GRPC' || peer.version === '1.0';
    assert.deepEqual((await client.get(id, 0)).history, isLimit ? [] : all);
    const done = taskOf(await client.send({ text: 'Monday', taskId: id, historyLength: 1 }));
    // The SDK's mapping to protobuf has no historyLength for a message.
    if (peer.binding === 'JSONRPC' || peer.version === '1.0') {
      assert.deepEqual(done.history, ['user: Monday']);
    }
  },

  async 'lists tasks page by page, newest first'(t, peer) {
    const client = await (await start(t, peer)).connect();
    if (!client.list) return t.skip('this SDK cannot list');
    const ids: string[] = [];
    for (const text of ['count 1', 'count 2', 'ask']) {
      ids.unshift(taskOf(await client.send({ text, contextId: 'listed' })).id);
    }
    await client.send({ text: 'count 1', contextId: 'other' });
    const first = await client.list({ contextId: 'listed', pageSize: 2 });
    assert.equal(first.total, 3);
    const last = await client.list({ contextId: 'listed', pageSize: 2, pageToken: first.next });
    assert.deepEqual(
      [...first.tasks, ...last.tasks].map(({ id }) => id),
      ids,
    );
    assert.equal(last.next, '');
    const asking = await client.list({ contextId: 'listed', state: 'input-required' });
    assert.deepEqual(
      asking.tasks.map(({ id, says }) => [id, says]),
      [[ids[0], 'Which city?']],
    );
    assert.ok(first.tasks.every(({ artifacts }) => artifacts.length === 0));
    const whole = await client.list({ contextId: 'listed', artifacts: true });
    assert.deepEqual(whole.tasks.map(artifactText), ['', '1 2 ', '1 ']);
    assert.equal((await client.list({})).total, 4);
  },

  async 'cancels a task that is being worked on'(t, peer) {
    const { connect } = await start(t, peer);
    const client = await connect();
    const { id } = await hold(client, 'a');
    const watched = read(client.resubscribe(id));
    assert.equal((await client.cancel(id)).state, 'canceled');
    assert.equal(short((await watched).at(-1)!), 'canceled');
    assert.equal((await client.get(id)).state, 'canceled');
  },

  async 'subscribes to a running task: first the Task, then what follows'(t, peer) {
    const { connect, gates, handler } = await start(t, peer);
    const client = await connect();
    const { id } = await hold(client, 'a');
    const seen: Seen[] = [];
    for (const stream of [client.resubscribe(id), client.resubscribe(id)]) {
      const iterator = stream[Symbol.asyncIterator]();
      const first = await within('the first event', iterator.next());
      seen.push(first.value as Seen);
      if (seen.length === 1) {
        // One reader leaves; neither the task nor the other reader minds.
        await iterator.return?.();
        continue;
      }
      gates.open('a');
      const rest = await read({ [Symbol.asyncIterator]: () => iterator });
      assert.deepEqual(rest.map(short), ['"done"', 'completed']);
    }
    assert.deepEqual(seen.map(short), ['task working', 'task working']);
    assert.equal(artifactText(taskOf(seen[1]!)), 'begun ');
    assert.equal(handler.running, 0);
  },

  async 'leaves a stream, and the task goes on'(t, peer) {
    const { connect, gates } = await start(t, peer);
    const controller = new AbortController();
    const leaving = await connect({ signal: controller.signal });
    const stream = leaving.stream({ text: 'hold a' })[Symbol.asyncIterator]();
    const first = await within('the first event', stream.next());
    controller.abort();
    await assert.rejects(async () => {
      for (;;) if ((await within('the abort', stream.next())).done) return;
    });
    gates.open('a');
    const client = await connect();
    const { id } = taskOf(first.value as Seen);
    await until(
      'the end',
      () => client.get(id),
      ({ state }) => state === 'completed',
    );
  },

  async 'answers a question, and the next, by send and by stream'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const asked = taskOf(await client.send({ text: 'ask' }));
    assert.equal(asked.state, 'input-required');
    assert.equal(asked.says, 'Which city?');
    const { id: taskId, contextId } = asked;
    const again = taskOf(await client.send({ text: 'Rome', taskId, contextId }));
    assert.deepEqual([again.id, again.state, again.says], [taskId, 'input-required', 'Which day?']);
    const events = (await read(client.stream({ text: 'Monday', taskId }))).map(short);
    assert.equal(events[0], 'task input-required');
    assert.deepEqual(events.slice(-2), ['"Sunny in Rome on Monday"', 'completed']);
  },

  async 'streams up to a question'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const events = await read(client.stream({ text: 'ask' }));
    assert.deepEqual(events.map(short), [
      'task submitted',
      'working',
      'input-required: Which city?',
    ]);
  },

  async 'is told that it must log in, and goes on when it has'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const task = taskOf(await client.send({ text: 'raw login' }));
    assert.deepEqual([task.state, task.says], ['auth-required', 'please log in']);
    const done = taskOf(await client.send({ text: 'I have', taskId: task.id }));
    assert.deepEqual([done.state, artifactText(done)], ['completed', 'I have']);
  },

  async 'sends and gets files and data whole'(t, peer) {
    const client = await (await start(t, peer)).connect();
    // This client cannot serialize a null.
    const nothing = peer.name === 'SDK 0.3 over gRPC' ? 'none' : null;
    const parts = [
      { text: 'raw parts' },
      { bytes: PNG, type: 'image/png' },
      { uri: 'https://files.test/a.png', type: 'image/png' },
      { data: { deep: { list: [1, 'two', nothing, { three: true }] } } },
    ];
    const task = taskOf(await client.send({ parts }));
    assert.deepEqual(task.artifacts, [parts]);
    assert.deepEqual((await client.get(task.id)).artifacts, [parts]);
    const events = await read(client.stream({ parts }));
    const artifacts = events.filter((event) => event.kind === 'artifact');
    assert.deepEqual(
      artifacts.map((event) => event.parts),
      [parts],
    );
  },

  async 'sees that a task failed or was rejected, and nothing of the cause'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const failed = taskOf(await client.send({ text: 'fail' }));
    assert.equal(failed.state, 'failed');
    assert.match(failed.says, /Correlation id/);
    assert.doesNotMatch(JSON.stringify(failed), /secret/);
    const rejected = taskOf(await client.send({ text: 'raw reject' }));
    assert.deepEqual([rejected.state, rejected.says], ['rejected', 'not today']);
    const events = await read(client.stream({ text: 'raw reject' }));
    assert.equal(short(events.at(-1)!), 'rejected: not today');
  },

  async 'gets the same task for the same message'(t, peer) {
    const client = await (await start(t, peer)).connect();
    const messageId = crypto.randomUUID();
    const one = taskOf(await client.send({ text: 'count 2', messageId }));
    const other = taskOf(await client.send({ text: 'count 2', messageId }));
    assert.deepEqual(other, one);
    const call = () => client.send({ text: 'count 3', messageId });
    assert.equal(await refusal(call, peer.codeOf), -32602);
  },

  async 'sets, gets, lists and deletes push configurations'(t, peer) {
    const { connect } = await start(t, peer);
    const client = await connect();
    const { id: taskId } = await hold(client, 'a');
    const config = { taskId, id: 'mine', url: 'http://127.0.0.1:9/hook', token: 'secret' };
    assert.deepEqual(await client.setPush(config), config);
    assert.deepEqual(await client.getPush(taskId, 'mine'), config);
    const second = { ...config, id: 'yours', url: 'http://127.0.0.1:9/other' };
    await client.setPush(second);
    assert.deepEqual(await client.listPush(taskId), [config, second]);
    await client.deletePush(taskId, 'mine');
    await client.deletePush(taskId, 'mine');
    assert.deepEqual(await client.listPush(taskId), [second]);
    assert.equal(await refusal(() => client.getPush(taskId, 'mine'), peer.codeOf), -32001);
    const inside = { ...config, url: 'http://10.0.0.1/hook' };
    assert.equal(await refusal(() => client.setPush(inside), peer.codeOf), -32602);
  },

  async 'is called back at the webhook that came with the message'(t, peer) {
    const webhook = await startWebhook(t);
    const client = await (await start(t, peer)).connect();
    const push = { id: 'with', url: webhook.url, token: 'tell-nobody', credentials: 'key' };
    const task = taskOf(await client.send({ text: 'count 2', push }));
    // 0.3: the task at each change of its status; 1.0: each event.
    const states =
      peer.version === '0.3'
        ? ['submitted', 'working', 'completed']
        : ['task', 'statusUpdate', 'artifactUpdate', 'artifactUpdate', 'statusUpdate'];
    const delivered = await webhook.atLeast(states.length);
    assert.deepEqual(delivered.map(peer.version === '0.3' ? stateOf : memberOf), states);
    for (const { headers } of delivered) {
      assert.equal(headers['x-a2a-notification-token'], 'tell-nobody');
      assert.equal(headers.authorization, 'Bearer key');
    }
    assert.deepEqual((await client.listPush(task.id))[0]?.id, 'with');
  },

  async 'is called back at a webhook that is set while the task runs'(t, peer) {
    const webhook = await startWebhook(t);
    const { connect, gates } = await start(t, peer);
    const client = await connect();
    const { id: taskId } = await hold(client, 'a');
    await client.setPush({ taskId, id: 'later', url: webhook.url, token: '' });
    gates.open('a');
    const last = peer.version === '0.3' ? 1 : 2;
    const delivered = await webhook.atLeast(last);
    assert.match(JSON.stringify(delivered[last - 1]?.body), /completed/i);
    assert.equal(delivered[0]?.headers['x-a2a-notification-token'], undefined);
  },

  async 'is refused with the right code'(t, peer) {
    const { connect, gates } = await start(t, peer);
    const client = await connect();
    const finished = taskOf(await client.send({ text: 'count 1' })).id;
    const running = (await hold(client, 'a')).id;
    const say = (taskId: string) => ({ text: 'hello', taskId });
    const png = { bytes: PNG, type: 'audio/mpeg' };
    const cases: [what: string, code: number, call: () => Promise<unknown>][] = [
      ['get of an unknown task', -32001, () => client.get('nobody')],
      ['cancel of an unknown task', -32001, () => client.cancel('nobody')],
      ['send to an unknown task', -32001, () => client.send(say('nobody'))],
      ['stream to an unknown task', -32001, () => read(client.stream(say('nobody')))],
      ['subscription to an unknown task', -32001, () => read(client.resubscribe('nobody'))],
      ['push list of an unknown task', -32001, () => client.listPush('nobody')],
      ['cancel of a finished task', -32002, () => client.cancel(finished)],
      ['send to a finished task', -32004, () => client.send(say(finished))],
      ['stream to a finished task', -32004, () => read(client.stream(say(finished)))],
      ['subscription to a finished task', -32004, () => read(client.resubscribe(finished))],
      ['send to a task that is at work', -32004, () => client.send(say(running))],
      ['extended card that there is not', -32004, () => client.extendedCard()],
      ['part of a type that is not taken', -32005, () => client.send({ parts: [png] })],
      ['message without parts', -32602, () => client.send({ parts: [] })],
      ['stream without parts', -32602, () => read(client.stream({ parts: [] }))],
      [
        'message in the wrong context',
        -32602,
        () => client.send({ ...say(running), contextId: 'other' }),
      ],
      ['negative history', -32602, () => client.get(finished, -1)],
    ];
    if (client.list) {
      cases.push(['page of 101', -32602, () => client.list!({ pageSize: 101 })]);
      cases.push(['made-up page', -32602, () => client.list!({ pageToken: 'x' })]);
    }
    const found = [];
    for (const [what, , call] of cases) found.push([what, await refusal(call, peer.codeOf)]);
    assert.deepEqual(
      found,
      cases.map(([what, code]) => [what, code]),
    );
    gates.open('a');
  },

  async 'sends instead where nothing is streamed, and is refused what only streams'(t, peer) {
    const card = { capabilities: { streaming: false } };
    const client = await (await start(t, peer, { card })).connect();
    assert.equal(client.card.streaming, false);
    const events = await read(client.stream({ text: 'count 2' }));
    assert.deepEqual(events.map(short), ['task completed']);
    const { id } = taskOf(await client.send({ text: 'ask' }));
    assert.equal(await refusal(() => read(client.resubscribe(id)), peer.codeOf), -32004);
  },

  async 'is refused push where there is none'(t, peer) {
    const client = await (await start(t, peer, { push: false })).connect();
    assert.equal(client.card.push, false);
    const { id: taskId } = taskOf(await client.send({ text: 'count 1' }));
    const config = { taskId, id: 'x', url: 'https://hook.test', token: '' };
    const calls = [
      () => client.setPush(config),
      () => client.getPush(taskId, 'x'),
      () => client.listPush(taskId),
      () => client.deletePush(taskId, 'x'),
      () => client.send({ text: 'count 1', push: config }),
    ];
    for (const call of calls) assert.equal(await refusal(call, peer.codeOf), -32003);
  },

  async 'activates an extension by naming it, and is told so'(t, peer) {
    const { connect } = await start(t, peer);
    const plain = await connect();
    const none = taskOf(await plain.send({ text: 'who' }));
    assert.equal(artifactText(none), 'nobody with nothing');
    assert.equal(plain.activated, '');
    const client = await connect({ extensions: ['https://unknown.test/x', EXTENSION] });
    const named = taskOf(await client.send({ text: 'who' }));
    assert.equal(artifactText(named), `nobody with ${EXTENSION}`);
    assert.equal(client.activated, EXTENSION);
    await read(client.stream({ text: 'who' }));
    assert.equal(client.activated, EXTENSION);
  },

  async 'must name an extension that is required'(t, peer) {
    const { connect } = await start(t, peer, { required: true });
    const plain = await connect();
    assert.equal(await refusal(() => plain.send({ text: 'who' }), peer.codeOf), -32008);
    const client = await connect({ extensions: [EXTENSION] });
    assert.equal(taskOf(await client.send({ text: 'who' })).state, 'completed');
  },

  async 'needs a token where one is asked for, and sees only its own tasks'(t, peer) {
    const tokens = new Map([
      ['ann', 'token-a'],
      ['bob', 'token-b'],
    ]);
    const authenticate = bearerTokens(tokens);
    const extendedCard = { description: 'For friends' };
    const { connect } = await start(t, peer, { authenticate, extendedCard });
    const stranger = await connect();
    assert.equal(stranger.card.name, 'Interop');
    const wrong = await connect({ token: 'token-c' });
    for (const client of [stranger, wrong]) {
      const send = () => client.send({ text: 'who' });
      assert.equal(await refusal(send, peer.codeOf), -31401);
      const stream = () => read(client.stream({ text: 'who' }));
      assert.equal(await refusal(stream, peer.codeOf), -31401);
    }
    const ann = await connect({ token: 'token-a' });
    const bob = await connect({ token: 'token-b' });
    const task = taskOf(await ann.send({ text: 'who' }));
    assert.equal(artifactText(task), 'ann with nothing');
    assert.equal((await ann.get(task.id)).state, 'completed');
    assert.equal(await refusal(() => bob.get(task.id), peer.codeOf), -32001);
    assert.equal((await read(ann.stream({ text: 'who' }))).length, 4);
    if (ann.list && bob.list) {
      assert.deepEqual([(await ann.list({})).total, (await bob.list({})).total], [2, 0]);
    }
    assert.equal((await ann.extendedCard()).description, 'For friends');
  },

  async 'is told that an extended card is declared but missing'(t, peer) {
    const client = await (await start(t, peer, { extendedCard: true })).connect();
    assert.equal(await refusal(() => client.extendedCard(), peer.codeOf), -32007);
  },
};

/** The state of the bare Task that 0.3 delivers. */
function stateOf({ body }: Delivered): unknown {
  return (body['status'] as { state?: unknown }).state;
}

/** The one member of the StreamResponse that 1.0 delivers. */
function memberOf({ body }: Delivered): string {
  return Object.keys(body).join();
}

for (const peer of PEERS) {
  for (const [does, scenario] of Object.entries(SCENARIOS)) {
    test(`${peer.name} ${does}`, (t) => {
      noteScenario(t, does, peer.name, 'client');
      return scenario(t, peer);
    });
  }
}
