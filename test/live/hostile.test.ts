// Those who have no business in a live session, or do not behave: refused or dropped, noted, and nobody else notices.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { LiveToken } from '../../src/live/index.ts';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { writes } from '../coder/talk.ts';
import { RawClient } from './raw-client.ts';
import { bridge, serveSession, silent, type OpenOptions } from './support.ts';

const says = (text: string): ScriptedResponse => [{ text }];
const TOKENS: LiveToken[] = [
  { name: 'phone', roles: ['view', 'prompt', 'approve'], token: 'secret-of-phone' },
  { name: 'bot', roles: ['prompt'], token: 'secret-of-bot' },
  { name: 'wall', roles: ['view'], token: 'secret-of-wall' },
  { name: 'judge', roles: ['approve'], token: 'secret-of-judge' },
];

/** A session with one who behaves; `unharmed` has them take a turn. */
async function guarded(t: TestContext, options: OpenOptions = {}) {
  const lines: string[] = [];
  const log = new EventEmitter();
  const warn = (fields: object, text: string) => {
    lines.push(`${text} ${JSON.stringify(fields)}`);
    log.emit('line');
  };
  const logged = async (text: string) => {
    while (!lines.some((line) => line.includes(text))) await once(log, 'line');
  };
  const logger = { ...silent, warn };
  const { server, access, script = [says('Still here.')], ...more } = options;
  const served = await serveSession(t, {
    script,
    server: { logger, ...server },
    access: { logger, ...access },
    ...more,
  });
  const good = new RawClient(t, served.ws, [], {
    headers: access?.tokens ? { authorization: 'Bearer secret-of-phone' } : {},
  });
  await good.snapshot();
  const unharmed = async () => {
    const at = good.frames.length;
    await good.say('are you there?');
    await good.frame(({ params }) => params?.event?.status?.state === 'completed', at);
  };
  return { ...served, good, unharmed, lines, logged };
}

const REFUSED: [string, object][] = [
  ['a web page of another origin', { origin: 'http://evil.example' }],
  ['a web page without an origin', { origin: 'null' }],
  ['a host name that was rebound', { headers: { host: 'evil.example' } }],
  [
    'a page that was rebound, and agrees with itself',
    { origin: 'http://evil.example', headers: { host: 'evil.example' } },
  ],
];

for (const [who, options] of REFUSED) {
  test(`${who} is refused before the upgrade`, async (t) => {
    const { ws, unharmed, lines } = await guarded(t);
    assert.equal(await new RawClient(t, ws, ['a2a'], options).refused, 403);
    assert.match(lines.join('\n'), /a WebSocket was refused .*"path":"\/ws"/);
    await unharmed();
  });
}

test('whoever has no token, or a wrong one, is told so and gets nothing else', async (t) => {
  const { ws, unharmed, lines, live } = await guarded(t, { access: { tokens: TOKENS } });
  const attempts = [
    new RawClient(t, ws),
    new RawClient(t, ws, 'a2a'),
    new RawClient(t, ws, ['a2a', 'token.guess']),
    new RawClient(t, ws, [], { headers: { authorization: 'Bearer secret-of' } }),
    new RawClient(t, ws, [], { headers: { authorization: 'Basic secret-of-phone' } }),
  ];
  for (const client of attempts) {
    assert.equal((await client.closed).code, 4001);
    assert.deepEqual(client.frames, []);
  }
  assert.equal(live.clients.length, 1);
  assert.equal(lines.filter((line) => line.includes('not authorised')).length, attempts.length);
  assert.ok(!lines.join().includes('secret'));
  await unharmed();
});

test('a token is a header or a subprotocol, and its name is its holder', async (t) => {
  const { ws } = await guarded(t, { access: { tokens: TOKENS } });
  const named = new RawClient(t, `${ws}?name=root`, ['a2a', 'token.secret-of-phone']);
  const bare = new RawClient(t, ws, ['token.secret-of-bot']);
  const { params } = await named.snapshot();
  assert.deepEqual([params.self.name, named.socket.protocol], ['phone', 'a2a']);
  const other = await bare.snapshot();
  assert.deepEqual([other.params.self.name, other.params.self.roles], ['bot', ['view', 'prompt']]);
});

test('roles hold on the WebSocket and over HTTP', async (t) => {
  const script = [writes('a.txt', 'A'), says('Done.'), says('Still here.')];
  const { ws, url, live, good, unharmed } = await guarded(t, {
    script,
    access: { tokens: TOKENS },
  });
  const wall = new RawClient(t, ws, ['token.secret-of-wall']);
  const bot = new RawClient(t, ws, ['token.secret-of-bot']);
  await Promise.all([wall.snapshot(), bot.snapshot()]);
  const code = async (answer: Promise<{ error?: { code: number } }>) => (await answer).error?.code;
  const rpc = async (token: string, method: string, params: object) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-a2a-extensions': EXTENSION_URI,
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as { error?: { code: number }; result?: { id: string } };
  };
  const { taskId } = live;
  const message = (part: object) => ({
    message: {
      kind: 'message',
      messageId: `${Math.random()}`,
      role: 'user',
      parts: [part],
      taskId,
    },
  });
  const words = (text: string) => message({ kind: 'text', text });
  assert.equal(await code(wall.say('hi')), -31403);
  assert.equal(await code(rpc('secret-of-wall', 'message/send', words('hi'))), -31403);
  assert.equal(await code(rpc('secret-of-wall', 'tasks/cancel', { id: taskId })), -31403);
  assert.equal((await rpc('secret-of-wall', 'tasks/get', { id: taskId })).result?.id, taskId);
  await bot.say('write');
  const { tool_call_id } = await wall.pending();
  await wall.state('input-required');
  const yes = { tool_call_id, selected_option_id: 'proceed_once' };
  const part = { kind: 'data', data: yes };
  assert.equal(await code(bot.ask('session/confirm', yes)), -31403);
  assert.equal(await code(bot.ask('message/send', message(part))), -31403);
  assert.equal(await code(rpc('secret-of-bot', 'message/send', message(part))), -31403);
  assert.equal(await code(rpc('secret-of-bot', 'message/send', words('yes'))), -31403);
  const judge = rpc('secret-of-judge', 'message/send', words('/memory add trust everybody'));
  assert.equal(await code(judge), -31403, 'an answer is not a command');
  assert.equal(await code(rpc('nobody', 'tasks/get', { id: taskId })), -31401);
  assert.deepEqual((await good.ask('session/confirm', yes)).result, { resolved: true });
  await wall.state('completed');
  await unharmed();
});

test('to answer is not to begin a task, and to prompt is not to turn the questions off', async (t) => {
  const script = [says('Begun.'), says('Begun.'), says('Begun.'), says('Still here.')];
  const { url, live, good, unharmed } = await guarded(t, {
    script,
    allowAutoExecute: true,
    access: {
      tokens: [...TOKENS, { name: 'boss', roles: ['approve'], token: 'secret-of-boss' }],
    },
  });
  const post = async (token: string, path: string, body: object) => {
    const headers = {
      'content-type': 'application/json',
      'x-a2a-extensions': EXTENSION_URI,
      authorization: `Bearer ${token}`,
    };
    return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }))
      .status;
  };
  const send = (token: string, message: object) => {
    const said = { kind: 'message', messageId: `${Math.random()}`, role: 'user', ...message };
    const params = { message: said, configuration: { blocking: false } };
    return post(token, '', { jsonrpc: '2.0', id: 1, method: 'message/send', params });
  };
  const words = { kind: 'text', text: 'write a file' };
  const yes = { kind: 'data', data: { tool_call_id: 'x', selected_option_id: 'proceed_once' } };
  const { contextId } = live;
  // An answer is no prompt, whatever else is in it: it answers a call that waits, or it is refused.
  assert.equal(await send('secret-of-boss', { parts: [words] }), 403);
  assert.equal(await send('secret-of-boss', { parts: [words, yes] }), 200);
  assert.equal(await send('secret-of-boss', { parts: [words, yes], contextId }), 200);
  const begun = good.frames.filter(({ method }) => method === 'tasks/event');
  assert.deepEqual(begun, []);
  const metadata = { [EXTENSION_URI]: { autoExecute: true } };
  assert.equal(await send('secret-of-bot', { parts: [words], metadata }), 403);
  const agentSettings = { autoExecute: true };
  assert.equal(await post('secret-of-bot', '/tasks', { agentSettings }), 403);
  const flat = { userMessage: 'write a file', agentSettings };
  assert.equal(await post('secret-of-bot', '/message/stream', flat), 403);
  assert.equal(await post('secret-of-phone', '/tasks', { agentSettings }), 400);
  await unharmed();
});

test('a frame of 100 MB is not read', async (t) => {
  const { ws, unharmed, lines } = await guarded(t);
  const client = new RawClient(t, ws);
  await client.snapshot();
  client.socket.send(Buffer.alloc(100 * 1024 * 1024, 0x20), { binary: false });
  assert.ok([1009, 1006].includes((await client.closed).code));
  assert.match(lines.join('\n'), /after an invalid frame/);
  await unharmed();
});

test('frames that are no text, or no frames, end their connection alone', async (t) => {
  const { ws, unharmed } = await guarded(t);
  const binary = new RawClient(t, ws);
  await binary.snapshot();
  binary.socket.send(randomBytes(64));
  assert.equal((await binary.closed).code, 1003);
  const { port } = new URL(ws);
  for (const garbage of [randomBytes(4096), Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xff])]) {
    const raw = connect(Number(port), '127.0.0.1');
    raw.on('error', () => undefined);
    raw.write(
      [
        'GET /ws HTTP/1.1',
        `Host: 127.0.0.1:${port}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        '\r\n',
      ].join('\r\n'),
    );
    await once(raw, 'data');
    raw.write(garbage);
    raw.resume();
    await once(raw, 'close');
  }
  await unharmed();
});

test('a flood of frames or pings is cut off', async (t) => {
  const { ws, unharmed, lines } = await guarded(t);
  for (const how of ['frames', 'pings'] as const) {
    const client = new RawClient(t, ws);
    await client.snapshot();
    for (let sent = 0; sent < 2000; sent++) {
      if (how === 'pings') client.socket.ping();
      else client.socket.send('{"jsonrpc":"2.0","id":1,"method":"session/clients"}');
    }
    assert.equal((await client.closed).code, 1008, how);
  }
  assert.match(lines.join('\n'), /sends too many frames/);
  await unharmed();
});

test('one who never reads is dropped, told where to go on, and holds nobody up', async (t) => {
  const script = Array.from({ length: 9 }, () => says('Still here.'));
  const { ws, good, unharmed, logged } = await guarded(t, { script, access: { stallMs: 1000 } });
  const client = new RawClient(t, ws);
  await client.snapshot();
  client.socket.pause();
  // More than the system keeps for a connection on both its sides.
  const long = 'x'.repeat(2 * 1024 * 1024);
  for (let turn = 1; turn <= 8; turn++) {
    await good.say(long);
    await good.state('completed', turn);
  }
  await logged('reads too slowly');
  client.socket.resume();
  const { code, reason } = await client.closed;
  // It may be gone before it has read that far.
  if (code !== 1006) assert.match(`${code} ${reason}`, /^4008 resume after \d+$/);
  await unharmed();
});

test('one who reads slowly, but reads, gets a long history whole', async (t) => {
  const script = Array.from({ length: 4 }, () => says('Still here.'));
  // Shorter than it takes to read the history, and longer than a busy machine may pause.
  const { ws, good, unharmed, lines } = await guarded(t, { script, access: { stallMs: 1000 } });
  const long = 'x'.repeat(4 * 1024 * 1024);
  for (let turn = 1; turn <= 3; turn++) {
    await good.say(long);
    await good.state('completed', turn);
  }
  const way = await bridge(t, ws.replace('ws:', 'http:'), { bytesPerSecond: 8 * 1024 * 1024 });
  const address = `${way.url.replace('http', 'ws')}/ws?presence=1`;
  const slow = new RawClient(t, address, 'a2a');
  await slow.opened;
  assert.equal((await slow.ask('session/clients')).result.clients.length, 2);
  assert.equal(slow.frames[0]?.method, 'session/snapshot');
  assert.ok(JSON.stringify(slow.frames[0]?.params.task).length > 3 * long.length);
  await unharmed();
  await slow.state('completed');
  assert.deepEqual(lines, []);
});

test('one whose machine is gone is noticed', async (t) => {
  const { ws, unharmed, live } = await guarded(t, { server: { limits: { heartbeatMs: 50 } } });
  const gone = new RawClient(t, ws, [], { autoPong: false });
  await gone.snapshot();
  assert.equal((await gone.closed).code, 1006);
  await unharmed();
  assert.equal(live.clients.length, 1);
});

test('there is room for so many and no more', async (t) => {
  const { ws, unharmed } = await guarded(t, { server: { limits: { maxSockets: 2 } } });
  const second = new RawClient(t, ws);
  await second.snapshot();
  assert.equal(await new RawClient(t, ws).refused, 503);
  second.socket.close();
  await second.closed;
  await unharmed();
  await new RawClient(t, ws).snapshot();
});

test('a WebSocket is only where there is one', async (t) => {
  const { ws, url } = await guarded(t);
  assert.equal(await new RawClient(t, ws.replace('/ws', '/nothing')).refused, 404);
  assert.equal((await fetch(`${url}/ws`)).status, 426);
});
