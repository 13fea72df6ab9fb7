// Limits of docs/operations.md, as a client over HTTP sees them. Others are tested beside their source.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createAgent, serve, type ServeOptions } from '../../src/server.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Answers with as many bytes as the message says. */
const agent = createAgent({ name: 'Large', description: 'Large answers' }, async function* (ctx) {
  yield 'x'.repeat(Number(ctx.text));
});

async function listening(t: TestContext, options: ServeOptions) {
  const server = await serve(agent, { logger, ...options }).listen();
  t.after(() => server.close(0));
  return server;
}

let made = 0;
function send(url: string, bytes: number): Promise<Response> {
  const parts = [{ text: String(bytes) }];
  const message = { messageId: `limits-${++made}`, role: 'ROLE_USER', parts };
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  });
}

async function raw(port: number, text: string, end = false): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  if (end) socket.end(text);
  else socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

test('headers that do not end are given up with 408', async (t) => {
  const { port } = await listening(t, { limits: { requestTimeoutMs: 100 } });
  assert.match(
    await raw(port, 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: '),
    /^HTTP\/1\.1 408 /,
  );
});

test('a client that closes its half of the connection in the middle of a request is let go', async (t) => {
  const { port, url } = await listening(t, {});
  const head = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"jsonrpc"';
  await raw(port, head, true);
  assert.equal((await send(url, 1)).status, 200);
});

test('a message that finds no room on the disk gets 503, and its tasks before it can be read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-limits-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = sqliteStore(join(folder, 'tasks.db'), { maxPages: 100, logger });
  const { url } = await listening(t, { store });
  let refused: Response | undefined;
  let stored = 0;
  for (let n = 0; n < 20 && !refused; n++) {
    const response = await send(url, 40_000);
    if (response.status === 200 && !(await response.clone().text()).includes('error')) stored++;
    else refused = response;
  }
  assert.ok(stored > 0 && refused);
  assert.equal(refused.status, 503);
  assert.ok(refused.headers.get('retry-after'));
  assert.doesNotMatch(await refused.text(), /sqlite|disk|tasks\.db/i, 'the cause stays in our log');
  const { total = 0 } = store.list({ tenant: '', owner: '', limit: 1 });
  assert.ok(total >= stored);
});
