// A live session as `joinLive` brings it, over the WebSocket that browsers have too.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test, type TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { joinLive, type JoinOptions } from '../../src/live/client/join.ts';
import { writes } from '../coder/talk.ts';
import { bridge, serveSession, Watcher } from './support.ts';

const says = (text: string): ScriptedResponse => [{ text }];

async function join(t: TestContext, url: string, options?: JoinOptions) {
  const session = await joinLive(url, options);
  t.after(() => session.close());
  return session;
}

test('one who joins from afar sees what the terminal sees, and is seen', async (t) => {
  const { live, url } = await serveSession(t, { script: [says('Hello.'), says('Again.')] });
  const terminal = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const session = await join(t, url, { name: 'phone' });
  const phone = new Watcher(session);
  assert.deepEqual([session.self.name, session.self.kind], ['phone', 'a2a']);
  await terminal.session.prompt('from the terminal');
  await phone.state('completed');
  const { queued, taskId } = await session.prompt('from the phone');
  assert.deepEqual([queued, taskId], [false, live.taskId]);
  await Promise.all([terminal.state('completed', 2), phone.state('completed', 2)]);
  const lines = ['Ann: from the terminal', 'Hello.', 'phone: from the phone', 'Again.'];
  assert.deepEqual(
    phone.said.map((line) => line.replace('agent: ', '')),
    lines,
  );
  assert.deepEqual(phone.order, terminal.order);
  const seen = (await session.clients()).map(({ name }) => name);
  assert.deepEqual(seen, ['Ann', 'phone']);
  await phone.until((item) =>
    item.kind === 'presence' && item.clients.length === 2 ? true : undefined,
  );
});

test('answers, cancellation and commands go the same way, with the same errors', async (t) => {
  const script = [writes('a.txt', 'A'), says('Done.'), writes('b.txt', 'B')];
  const { live, url } = await serveSession(t, { script });
  const terminal = live.join({ kind: 'terminal', name: 'Ann' });
  const session = await join(t, url, { name: 'phone' });
  const phone = new Watcher(session);
  await session.cancel();
  await session.prompt('write');
  const { tool_call_id } = await phone.pending();
  assert.equal((await session.prompt('later')).queued, true);
  await terminal.confirm({ tool_call_id, selected_option_id: 'proceed_once' });
  await assert.rejects(session.confirm({ tool_call_id, selected_option_id: 'cancel' }), {
    name: 'A2AError',
    code: -32004,
    reason: 'ALREADY_RESOLVED',
    message: 'already resolved by Ann: proceed_once',
  });
  await phone.pending(1);
  const before = live.taskId;
  await session.cancel();
  await phone.state('canceled');
  await phone.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId !== before ? true : undefined,
  );
  assert.ok((await session.commands()).some(({ name }) => name === 'help'));
  const { execution_id } = await session.execute({ command_path: ['help'], args: '' });
  assert.notEqual(execution_id, live.taskId);
  await phone.state('completed', 2);
});

test('a prompt from afar is no answer: the person may have typed it before the question came', async (t) => {
  const question = { name: 'ask_user', args: { question: 'Which colour?' } };
  const script: ScriptedResponse[] = [[{ call: question }], says('Done.'), says('Next.')];
  const { url } = await serveSession(t, { script });
  const session = await join(t, url, { name: 'phone' });
  const phone = new Watcher(session);
  await session.prompt('go');
  const { tool_call_id } = await phone.pending();
  assert.equal((await session.prompt('and then the tests')).queued, true);
  await session.confirm({ tool_call_id, selected_option_id: 'answer', answer: 'green' });
  await phone.state('completed', 2);
  assert.deepEqual(
    phone.said.filter((line) => line.startsWith('phone')),
    ['phone: go', 'phone: and then the tests'],
  );
});

test('a connection that is cut is made again, and nothing is missed or seen twice', async (t) => {
  const { live, url } = await serveSession(t, {
    script: [says('One.'), says('Two.'), says('Three.')],
  });
  const way = await bridge(t, url);
  const terminal = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const retry = { delayMs: 5 };
  const session = await join(t, way.url, { name: 'phone', retry });
  const phone = new Watcher(session);
  await session.prompt('first');
  await phone.state('completed');
  way.setOpen(false);
  await terminal.session.prompt('while it is away');
  await terminal.state('completed', 2);
  way.setOpen(true);
  await phone.state('completed', 2);
  way.cut();
  await terminal.session.prompt('and again');
  await phone.state('completed', 3);
  assert.deepEqual(phone.order, terminal.order);
  assert.equal(phone.items.filter(({ kind }) => kind === 'snapshot').length, 1);
  assert.equal((await session.clients()).filter(({ name }) => name === 'phone').length, 1);
});

test('one who was away while the task became another sees its end, and then the next', async (t) => {
  const { live, url } = await serveSession(t, { script: [writes('a.txt', 'A')] });
  const way = await bridge(t, url);
  const session = await join(t, way.url, { retry: { delayMs: 5, attempts: 100 } });
  const phone = new Watcher(session);
  await session.prompt('write');
  await phone.pending();
  const before = live.taskId;
  way.setOpen(false);
  const terminal = live.join({ kind: 'terminal' });
  const ann = new Watcher(terminal);
  await ann.until(({ kind }) => (kind === 'snapshot' ? true : undefined));
  await terminal.cancel();
  await ann.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId !== before ? true : undefined,
  );
  way.setOpen(true);
  await phone.state('canceled');
  await phone.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId === live.taskId ? true : undefined,
  );
});

test('one who comes after that is told what was said before it', async (t) => {
  const { live, url } = await serveSession(t, { script: [writes('a.txt', 'A')] });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  await ann.session.prompt('write');
  await ann.pending();
  const before = live.taskId;
  await ann.session.cancel();
  await ann.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId !== before ? true : undefined,
  );
  const phone = new Watcher(await join(t, url));
  const { earlier } = await phone.until((item) =>
    item.kind === 'snapshot' ? item.snapshot : undefined,
  );
  assert.deepEqual(
    earlier?.map(({ id, status }) => [id, status.state]),
    [[before, 'canceled']],
  );
});

test('what is asked while the connection breaks rejects; what is asked then waits for the next', async (t) => {
  const { url } = await serveSession(t);
  const way = await bridge(t, url);
  const session = await join(t, way.url, { retry: { delayMs: 5 } });
  way.setOpen(false);
  const waiting = session.clients().catch((error: Error) => error.message);
  way.setOpen(true);
  const answer = await waiting;
  if (typeof answer === 'string') assert.match(answer, /may have arrived/);
  assert.equal((await session.clients()).length, 1);
});

test('it gives up after so many attempts, and says why', async (t) => {
  const { url } = await serveSession(t);
  const way = await bridge(t, url);
  const session = await join(t, way.url, { retry: { delayMs: 1, attempts: 2 } });
  const phone = new Watcher(session);
  way.setOpen(false);
  await assert.rejects(phone.done, { name: 'ConnectionError', reason: 'broken' });
  await assert.rejects(session.prompt('anybody?'), { name: 'ConnectionError' });
});

test('the end of the session is the end of its items, and no error', async (t) => {
  const { live, url } = await serveSession(t);
  const phone = new Watcher(await join(t, url));
  await phone.until(({ kind }) => (kind === 'snapshot' ? true : undefined));
  await live.close();
  await phone.done;
  await assert.rejects(phone.session.prompt('still?'), {
    name: 'ConnectionError',
    reason: 'closed',
  });
});

test('a token is needed where there are tokens', async (t) => {
  const tokens = [{ name: 'phone', roles: ['view', 'prompt'] as const, token: 'secret-1' }];
  const { url } = await serveSession(t, { access: { tokens } });
  await assert.rejects(joinLive(url), { name: 'A2AError', code: -31401 });
  await assert.rejects(joinLive(url, { token: 'secret-2' }), { code: -31401 });
  await assert.rejects(joinLive(url, { token: 'a b' }), TypeError);
  const session = await join(t, url, { token: 'secret-1', name: 'somebody else' });
  assert.deepEqual([session.self.name, session.self.roles], ['phone', ['view', 'prompt']]);
  const no = { tool_call_id: 'x', selected_option_id: 'y' };
  await assert.rejects(session.confirm(no), { code: -31403 });
});

test('an address where there is no session is an error in one line', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  server.close();
  await assert.rejects(joinLive(`http://127.0.0.1:${address.port}`), {
    name: 'ConnectionError',
    reason: 'unreachable',
    message: /no live session at ws:\/\/127\.0\.0\.1/,
  });
  await assert.rejects(joinLive('nonsense'), TypeError);
  const controller = new AbortController();
  controller.abort(new Error('enough'));
  await assert.rejects(joinLive('http://127.0.0.1:1', { signal: controller.signal }), /enough/);
});

test('an abort leaves the session, and ends the items', async (t) => {
  const { live, url } = await serveSession(t);
  const controller = new AbortController();
  const session = await join(t, url, { signal: controller.signal });
  const phone = new Watcher(session);
  const terminal = new Watcher(live.join({ kind: 'terminal' }));
  controller.abort();
  await phone.done;
  await terminal.until((item) =>
    item.kind === 'presence' && item.clients.length === 1 ? true : undefined,
  );
});

test('items can be had again, from a snapshot or behind an event', async (t) => {
  const { url } = await serveSession(t, { script: [says('One.')] });
  const session = await join(t, url);
  const first = new Watcher(session);
  await session.prompt('first');
  await first.state('completed');
  const again = new Watcher(session, { after: 1 });
  await first.done;
  await again.state('completed');
  assert.deepEqual(again.order, first.order);
  const afresh = new Watcher(session);
  const { task } = await afresh.until((i) => (i.kind === 'snapshot' ? i.snapshot : undefined));
  assert.equal(task.status.state, 'completed');
});

test('a server that talks nonsense is left', async (t) => {
  const frames = [
    'nonsense',
    '[]',
    '{"jsonrpc":"2.0","method":"session/snapshot","params":{}}',
    '{"jsonrpc":"2.0","method":"tasks/event","params":{"taskId":"t","seq":-1,"event":{}}}',
    '{"jsonrpc":"2.0","result":1}',
  ];
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'a2a' });
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  for (const frame of frames) {
    server.once('connection', (socket) => socket.send(frame));
    await assert.rejects(
      joinLive(`http://127.0.0.1:${address.port}`),
      { name: 'A2AError', code: -32006 },
      frame,
    );
  }
});

/** A server with one long log. It sends all events after the position that a client asks for. */
async function longLog(t: TestContext, last = 10_000) {
  const ids = { taskId: 't', contextId: 'c' };
  const status = { state: 'submitted' };
  const task = { kind: 'task', id: 't', contextId: 'c', status };
  const snapshot = { ...ids, task, pending: [], approval: 'ask', clients: [], seq: 0 };
  const self = { id: 'a2a-1', name: 'slow', kind: 'a2a', roles: ['view'] };
  const frame = (method: string, params: object) =>
    JSON.stringify({ jsonrpc: '2.0', method, params });
  const asked: (string | null)[] = [];
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'a2a' });
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  server.on('connection', (socket, { url = '' }) => {
    const after = new URL(url, 'http://localhost').searchParams.get('after');
    asked.push(after);
    socket.once('close', () => leave());
    socket.on('message', (data: Buffer) => {
      const { id } = JSON.parse(data.toString()) as { id: number };
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: { clients: [self], self } }));
    });
    if (after === null) socket.send(frame('session/snapshot', { ...snapshot, self }));
    for (let seq = Number(after ?? 0) + 1; seq <= last; seq++) {
      const event = { kind: 'status-update', ...ids, status: { state: 'working' }, final: false };
      socket.send(frame('tasks/event', { taskId: 't', seq, event }));
    }
  });
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { url: `http://127.0.0.1:${address.port}`, last, asked, gone };
}

test('one who does not keep up lets the connection go, and goes on where it was', async (t) => {
  const { url, last, asked, gone } = await longLog(t);
  const session = await join(t, url);
  const seen: number[] = [];
  for await (const item of session.items()) {
    if (item.kind !== 'event') continue;
    seen.push(item.seq);
    if (item.seq === last) break;
    // At first it has something else to do, for as long as more comes.
    if (item.seq === 1) await gone;
  }
  assert.deepEqual(
    seen,
    Array.from({ length: last }, (_, at) => at + 1),
  );
  assert.ok(asked.length > 1 && asked.slice(1).every((after) => Number(after) > 0));
});

test('one who leaves while the connection is let go does not come back', async (t) => {
  const { url, asked, gone } = await longLog(t);
  const connections: boolean[] = [];
  const session = await join(t, url, { onConnection: (open) => void connections.push(open) });
  for await (const item of session.items()) {
    if (item.kind === 'event' && item.seq === 1) {
      await gone;
      await session.close();
    }
  }
  // A connection that was begun would be open by now.
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual([asked, connections], [[null], []]);
});

test('one who stops reading while the connection is let go can still ask', async (t) => {
  const { url, asked, gone } = await longLog(t);
  const session = await join(t, url);
  for await (const item of session.items()) {
    if (item.kind !== 'event') continue;
    await gone;
    break;
  }
  const found = await session.clients();
  assert.deepEqual([found.length, asked.length], [1, 2]);
});
