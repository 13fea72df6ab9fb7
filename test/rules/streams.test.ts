/** Rules 3 and 10: streams of a task, their order, their beginning, and how they go on after a break. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { A2AError, textOf, type Part, type Task } from '../../src/protocol/index.ts';
import { bearerTokens, type A2AAgent } from '../../src/server.ts';
import { createAgent, memoryStore } from '../../src/tasks/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import {
  finished,
  type Frame,
  isState,
  raw,
  rest1,
  rpc03,
  rpc1,
  sample,
  start,
  until,
  userMessage,
  type Wire,
  WIRES,
  working,
} from './support.ts';

/** An agent that says so many words, each when the test lets it. */
function paced() {
  const gate: { open: () => void } = { open: () => {} };
  const agent = createAgent({ name: 'Paced', description: 'Waits' }, async function* (ctx) {
    for (const word of ctx.text.split(' ')) {
      await new Promise<void>((resolve) => (gate.open = resolve));
      yield `${word} `;
    }
  });
  return { agent, gate };
}

const STORES = [
  ['memory', () => memoryStore()],
  [
    'sqlite',
    (t: TestContext) => {
      const folder = mkdtempSync(join(tmpdir(), 'parley-streams-'));
      t.after(() => rmSync(folder, { recursive: true }));
      return sqliteStore(join(folder, 'tasks.db'));
    },
  ],
] as const;

const eventsOf = (frames: readonly Frame[]) => frames.map(({ event }) => event);
const idsOf = (frames: readonly Frame[]) => frames.map(({ id }) => id);
const count = (to: number, from = 1) => Array.from({ length: to - from + 1 }, (_, at) => at + from);

const refusalOf = ({ binding }: Wire) =>
  binding === 'JSONRPC' ? 'a stream with the error as its only event' : 'an error response';

for (const wire of WIRES) {
  test(`rule 3: a stream begins with the task, its ids have no gap, and it ends with the task (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const stream = await wire.open(url, 'streamMessage', { message: userMessage('count 100') });
    const frames = await stream.rest();
    assert.equal(frames[0]?.event.kind, 'task');
    assert.deepEqual(idsOf(frames), count(103));
    const kinds = frames.slice(1).map(({ event }) => event.kind);
    assert.deepEqual(kinds, [
      'status-update',
      ...Array.from({ length: 100 }, () => 'artifact-update'),
      'status-update',
    ]);
    assert.ok(isState('completed')(frames.at(-1)!.event));
    if (wire.version === '0.3') {
      assert.ok(JSON.stringify(frames.at(-1)!.data).includes('"final":true'));
    }
  });

  test(`rule 3: a subscription begins with the task as it is, then come the events (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { id } = await working(url);
    const stream = await wire.open(url, 'subscribe', { id });
    const first = await stream.next();
    assert.equal(first?.event.kind, 'task');
    assert.ok(isState('working')(first.event));
    assert.equal(first?.event.kind === 'task' && first.event.artifacts?.length, 1);
    const [rest] = await Promise.all([stream.rest(), wire.call(url, 'cancelTask', { id })]);
    assert.deepEqual(idsOf(rest), [first.id! + 1]);
    assert.ok(isState('canceled')(rest[0]!.event));
  });

  test(`rule 3: a terminal task has nothing to subscribe to, -32004 (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { id } = await finished(url);
    const { error, headers, status } = await wire.ask(url, 'subscribe', { id });
    assert.equal(error?.code, -32004);
    assert.equal(status, 400);
    assert.match(headers.get('content-type') ?? '', /json/);
  });

  test(`rule 10: what fails before the first event is ${refusalOf(wire)} (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const unknown = await wire.ask(url, 'subscribe', { id: 'nobody' });
    assert.equal(unknown.error?.code, -32001);
    const parts: Part[] = [];
    const empty = await wire.ask(url, 'streamMessage', { message: userMessage('x', { parts }) });
    assert.equal(empty.error?.code, -32602);
    const headers = { 'a2a-version': '9.9' };
    const version = await wire.ask(
      url,
      'streamMessage',
      { message: userMessage('x') },
      { headers },
    );
    assert.equal(version.error?.code, -32009);
    const statuses = [unknown, empty, version].map(({ status }) => status);
    const isRpc = wire.binding === 'JSONRPC';
    assert.deepEqual(statuses, isRpc ? [200, 200, 200] : [404, 400, 400]);
    const type = isRpc ? /^text\/event-stream$/ : /^application\/(a2a\+)?json/;
    for (const { headers: got } of [unknown, empty, version]) {
      assert.match(got.get('content-type') ?? '', type);
    }
  });

  test(`Last-Event-ID and ?after= go on behind that event, without gap or repetition (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const stream = await wire.open(url, 'streamMessage', { message: userMessage('count 150') });
    const whole = await stream.rest();
    const [opened] = eventsOf(whole);
    const id = opened?.kind === 'task' ? opened.id : '';
    for (const after of [0, 1, 64, 65, 152]) {
      const headers = { 'last-event-id': String(after) };
      const byHeader = await wire.open(url, 'subscribe', { id }, { headers });
      const byQuery = await wire.open(url, 'subscribe', { id }, { query: `after=${after}` });
      for (const resumed of [byHeader, byQuery]) {
        const rest = await resumed.rest();
        assert.deepEqual(idsOf(rest), count(153, after + 1));
        assert.deepEqual(eventsOf(rest), eventsOf(whole.slice(after)));
      }
    }
    const over = await wire.open(url, 'subscribe', { id }, { query: 'after=153' });
    assert.deepEqual(await over.rest(), []);
  });

  test(`a repeated message with Last-Event-ID goes on behind that event (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const message = userMessage('count 150');
    const whole = await (await wire.open(url, 'streamMessage', { message })).rest();
    for (const seen of [0, 1, 64, 152, 153]) {
      const headers = { 'last-event-id': String(seen) };
      const again = await wire.open(url, 'streamMessage', { message }, { headers });
      assert.deepEqual(eventsOf(await again.rest()), eventsOf(whole.slice(seen)));
    }
    const headers = { 'last-event-id': '154' };
    const { error } = await wire.ask(url, 'streamMessage', { message }, { headers });
    assert.equal(error?.code, -32602);
    // A message that is new has no events yet, whatever the client saw of another.
    const other = { message: userMessage('count 2') };
    const fresh = await wire.open(url, 'streamMessage', other, {
      headers: { 'last-event-id': '4' },
    });
    assert.deepEqual(idsOf(await fresh.rest()), count(5));
    // At a question the stream had ended, and so does this one.
    const question = userMessage('ask');
    const asked = await (await wire.open(url, 'streamMessage', { message: question })).rest();
    const at = (seen: number) =>
      wire.open(url, 'streamMessage', { message: question }, { query: `after=${seen}` });
    const last = asked.at(-1)!.id!;
    assert.deepEqual(idsOf(await (await at(last)).rest()), []);
    assert.deepEqual(idsOf(await (await at(last - 1)).rest()), [last]);
  });

  test(`a stream that has nothing to say yet is there at once (${wire.name})`, async (t) => {
    // No heartbeat comes within this test, which would send the head along.
    const { url } = await start(t, sample(), { limits: { heartbeatMs: 600_000 } });
    const message = userMessage('ask');
    const asked = (await rpc1.call(url, 'sendMessage', { message })) as Task;
    const again = await wire.open(url, 'streamMessage', { message }, { query: 'after=0' });
    const query = `after=${idsOf(await again.rest()).at(-1)}`;
    const silent = await wire.open(url, 'subscribe', { id: asked.id }, { query });
    const answer = userMessage('Rome', { taskId: asked.id });
    await rpc1.call(url, 'sendMessage', { message: answer });
    assert.ok(isState('working')((await silent.next())!.event));
    await silent.close();
  });

  test(`a cursor beyond the end, or one that is no number, is refused with -32602 (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { id } = await working(url);
    for (const bad of ['999', '-1', 'x', '1.5', '0x1', '1e0', '99999999999999999999']) {
      const headers = { 'last-event-id': bad };
      const { error, status } = await wire.ask(url, 'subscribe', { id }, { headers });
      assert.equal(error?.code, -32602, bad);
      assert.equal(status, wire.binding === 'JSONRPC' ? 200 : 400);
    }
  });
}

for (const wire of [rpc03, rpc1]) {
  test(`rule 10: errors that proxies act on keep their HTTP status, also for a stream (${wire.name})`, async (t) => {
    const kinds = ['forbidden', 'rateLimited', 'unavailable'] as const;
    const refusing: A2AAgent = {
      ...sample(),
      receive({ message }) {
        const kind = kinds.find((each) => each === textOf(message.parts));
        throw new A2AError(kind ?? 'unsupportedOperation');
      },
    };
    const extensions = [{ uri: 'urn:needed', required: true }];
    const profile = { ...refusing.profile, extensions };
    const { url } = await start(
      t,
      { ...refusing, profile },
      { authenticate: bearerTokens(new Map([['ann', 'secret']])), limits: { maxBodyBytes: 2000 } },
    );
    const active = { 'a2a-extensions': 'urn:needed' };
    const known = { authorization: 'Bearer secret' };
    const ask = async (text: string, headers: Record<string, string>) => {
      const message = userMessage(text);
      const {
        status,
        error,
        headers: got,
      } = await wire.ask(url, 'streamMessage', { message }, { headers });
      return [status, error?.code, got.get('content-type')];
    };
    const json = 'application/json';
    const events = 'text/event-stream';
    assert.deepEqual(await ask('x', active), [401, -31401, json]);
    assert.deepEqual(await ask('forbidden', { ...active, ...known }), [403, -31403, json]);
    assert.deepEqual(await ask('x'.repeat(3000), { ...active, ...known }), [413, -32600, json]);
    assert.deepEqual(await ask('rateLimited', { ...active, ...known }), [429, -31429, json]);
    assert.deepEqual(await ask('unavailable', { ...active, ...known }), [503, -31503, json]);
    assert.deepEqual(await ask('else', { ...active, ...known }), [200, -32004, events]);
    assert.deepEqual(await ask('else', known), [200, -32008, events]);
  });
}

for (const [name, open] of STORES) {
  test(`a stream that resumes behind an answered question goes on to the end (${name})`, async (t) => {
    const gate = Promise.withResolvers<void>();
    const asking = createAgent({ name: 'Asking', description: 'Asks' }, async function* (ctx) {
      yield 'before ';
      yield (await ctx.ask('Which words?')).text;
      await gate.promise;
      yield 'after';
    });
    const { url } = await start(t, asking, { store: open(t) });
    const { id: taskId } = await finished(url);
    const message = userMessage('some', { taskId });
    const configuration = { blocking: false };
    await rpc1.call(url, 'sendMessage', { message, configuration });
    const live = await rpc1.open(url, 'subscribe', { id: taskId }, { query: 'after=1' });
    await until(live, isState('input-required'));
    await until(live, isState('working'));
    gate.resolve();
    // The answer's chunk, the one after, the end.
    assert.deepEqual(idsOf(await live.rest()), count(8, 6));
    for (const wire of WIRES) {
      const late = await wire.open(url, 'subscribe', { id: taskId }, { query: 'after=1' });
      const frames = await late.rest();
      assert.deepEqual(idsOf(frames), count(8, 2));
      assert.ok(isState('completed')(frames.at(-1)!.event));
    }
  });
}

for (const wire of WIRES) {
  test(`historyLength counts for the task that a stream begins with (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const open = async (text: string, historyLength: number, extra = {}) => {
      const configuration = { historyLength };
      const message = userMessage(text, extra);
      const stream = await wire.open(url, 'streamMessage', { message, configuration });
      const frames = await stream.rest();
      assert.deepEqual(idsOf(frames), count(frames.at(-1)!.id!, frames[0]!.id));
      const [first] = eventsOf(frames);
      assert.ok(first?.kind === 'task');
      return first;
    };
    const whole = await open('ask', 1);
    assert.equal(whole.history?.length, 1);
    const { id: taskId, history } = await open('ask', 0);
    assert.deepEqual(history ?? [], []);
    const answered = await open('Rome', 0, { taskId });
    assert.deepEqual(answered.history ?? [], []);
  });
}

test('rule 3: all streams of a task carry the same events in the same order', async (t) => {
  const { agent, gate } = paced();
  const { url } = await start(t, agent);
  const first = await rpc1.open(url, 'streamMessage', { message: userMessage('a b c d') });
  const opened = (await first.next())!.event;
  const id = opened.kind === 'task' ? opened.id : '';
  await until(first, isState('working'));
  const others = await Promise.all(WIRES.map((wire) => wire.open(url, 'subscribe', { id })));
  for (const other of others) assert.equal((await other.next())?.event.kind, 'task');
  const seen = [first, ...others].map((stream) => stream.rest());
  const watch = await rest1.open(url, 'subscribe', { id });
  await watch.next();
  for (let word = 0; word < 4; word++) {
    gate.open();
    await watch.next();
  }
  const [one, ...rest] = (await Promise.all(seen)).map((frames) =>
    frames.map(({ id, event }) => ({ id, event })),
  );
  assert.equal(one?.length, 5);
  for (const other of rest) assert.deepEqual(other, one);
});

test('rule 3: closing one stream leaves the others and the work', async (t) => {
  const { agent, gate } = paced();
  const { url } = await start(t, agent);
  const first = await rpc1.open(url, 'streamMessage', { message: userMessage('a b') });
  const opened = (await first.next())!.event;
  const id = opened.kind === 'task' ? opened.id : '';
  const second = await rest1.open(url, 'subscribe', { id });
  await until(second, isState('working'));
  await first.close();
  gate.open();
  await until(second, (event) => event.kind === 'artifact-update');
  gate.open();
  assert.ok(isState('completed')((await second.rest()).at(-1)!.event));
});

test('a client that leaves does not stop the work, blocking or not', async (t) => {
  const { agent, gate } = paced();
  const { url } = await start(t, agent);
  const leaving = new AbortController();
  const message = userMessage('a');
  const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
  const sent = fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  let id = '';
  while (id === '') id = (await rpc1.call(url, 'listTasks', {})).tasks[0]?.id ?? '';
  leaving.abort();
  await assert.rejects(sent);
  const stream = await rpc1.open(url, 'subscribe', { id });
  gate.open();
  await until(stream, isState('completed'));
});

test(
  'rule 10: an idle stream gets heartbeats, and headers at once',
  { timeout: 10_000 },
  async (t) => {
    const { url } = await start(t, undefined, { limits: { heartbeatMs: 20 } });
    const { id } = await working(url);
    const response = await fetch(`${url}/tasks/${id}:subscribe?after=3`);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.match(response.headers.get('cache-control') ?? '', /no-cache/);
    const reader = response.body!.getReader();
    let text = '';
    while (text.split('\n\n').length < 4) {
      text += new TextDecoder().decode((await reader.read()).value);
    }
    assert.match(text, /^(: keep-alive\n\n){3}/);
    await reader.cancel();
  },
);

test('rule 10: heartbeats end with the stream', async (t) => {
  const { url } = await start(t, undefined, { limits: { heartbeatMs: 5 } });
  const { id } = await working(url);
  const other = await fetch(`${url}/tasks/${id}:subscribe`);
  const beats = other.body!.getReader();
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8');
  t.after(() => socket.destroy());
  let text = '';
  socket.on('data', (chunk: string) => (text += chunk));
  const body = JSON.stringify({
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'count 3' }] },
  });
  socket.write(
    `POST /message:stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  while (!text.endsWith('\r\n0\r\n\r\n')) await once(socket, 'data');
  const { length } = text;
  // The connection stays open. While another stream gets heartbeats, it gets none.
  let seen = '';
  while (seen.split(': keep-alive').length < 10) {
    seen += new TextDecoder().decode((await beats.read()).value);
  }
  await beats.cancel();
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(text.slice(length), '');
  assert.equal(socket.readyState, 'open');
});

test('POST and GET both subscribe over REST, in both versions', async (t) => {
  const { url } = await start(t);
  const { id } = await working(url);
  for (const prefix of ['', '/v1']) {
    for (const method of ['POST', 'GET']) {
      const leaving = new AbortController();
      const { signal } = leaving;
      const response = await fetch(`${url}${prefix}/tasks/${id}:subscribe`, { method, signal });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'text/event-stream');
      leaving.abort();
    }
  }
});

test('the whole log of a finished task is read a page at a time', async (t) => {
  const { url } = await start(t);
  const { id } = await finished(url, {}, 'count 1100');
  const seen: number[] = [];
  let after: number | undefined = 0;
  let pages = 0;
  while (after !== undefined) {
    const page = await fetch(`${url}/tasks/${id}/events?after=${after}`);
    const { events, nextAfter } = (await page.json()) as {
      events: { seq: number; event: Record<string, unknown> }[];
      nextAfter?: number;
    };
    for (const { seq, event } of events) {
      seen.push(seq);
      assert.equal(Object.keys(event).length, 1, 'in the shape of 1.0');
    }
    after = nextAfter;
    pages++;
  }
  assert.deepEqual(seen, count(1103));
  assert.equal(pages, 3);
  const beyond = await raw(url, { method: 'GET', path: `/tasks/${id}/events?after=5000` });
  assert.deepEqual(JSON.parse(beyond.text), { events: [] });
  const old = await raw(url, { method: 'GET', path: `/v1/tasks/${id}/events?after=1102` });
  assert.equal(JSON.parse(old.text).events[0].event.final, true);
  const short = await raw(url, { method: 'GET', path: `/tasks/${id}/events?limit=1` });
  const { events: first, nextAfter } = JSON.parse(short.text);
  assert.deepEqual([first.length, first[0].seq, nextAfter], [1, 1, 1]);
  const none = await raw(url, { method: 'GET', path: `/tasks/${id}/events?limit=0` });
  assert.equal(none.status, 400);
});

test('streams over the limit of a client get 429 with Retry-After, and a place when one is free', async (t) => {
  const { url } = await start(t, undefined, { limits: { maxStreamsPerClient: 2 } });
  const { id } = await working(url);
  const streams = [];
  for (let n = 0; n < 2; n++) streams.push(await rpc1.open(url, 'subscribe', { id }));
  for (const wire of WIRES) {
    const refused = await wire.ask(url, 'subscribe', { id });
    assert.equal(refused.status, 429);
    assert.equal(refused.error?.kind, 'rateLimited');
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
  }
  await streams[0]!.close();
  let again;
  while (!again) again = await rpc1.open(url, 'subscribe', { id }).catch(() => undefined);
  await again.close();
  await streams[1]!.close();
});

test('a stream that is refused, or over at once, gives its place back', async (t) => {
  const { url } = await start(t, undefined, { limits: { maxStreamsPerClient: 1 } });
  for (let n = 0; n < 5; n++) {
    assert.equal((await rpc1.ask(url, 'subscribe', { id: 'none' })).error?.code, -32001);
    assert.equal((await rest1.ask(url, 'subscribe', { id: 'none' })).error?.code, -32001);
    const reply = await rpc1.open(url, 'streamMessage', { message: userMessage('reply x') });
    assert.equal((await reply.rest()).length, 1);
  }
});
