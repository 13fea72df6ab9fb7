// ACP over Streamable HTTP: the SDK's client, and what other clients may send.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client';
import { acpRoutes, type AcpHttpOptions } from '../../src/acp/http.ts';
import { serveAcp } from '../../src/acp/serve.ts';
import { bearerTokens } from '../../src/http/admission.ts';
import { serve } from '../../src/server.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { allowed, Editor, silent, startLive, VERSION } from './support.ts';

const shell = { name: 'run_shell_command', args: { command: 'echo hi' } };
const JSON_TYPE = { 'content-type': 'application/json' };

function editorOver(t: TestContext, url: string, headers: Record<string, string> = {}): Editor {
  const editor = new Editor(createHttpStream(`${url}/acp`, { headers }));
  t.after(() => editor.connection.close());
  return editor;
}

test("the SDK's HTTP client prompts, approves and gets the text once", async (t) => {
  const { url, live } = await startLive(t, { script: [[{ call: shell }], [{ text: 'Ran.' }]] });
  const editor = editorOver(t, url);
  const { sessionId } = await editor.open();
  assert.equal(sessionId, live.contextId);
  editor.answer = () => allowed;
  assert.deepEqual(await editor.prompt('go'), { stopReason: 'end_turn' });
  assert.equal(editor.text, 'Ran.');
  assert.equal(editor.asked.length, 1);
});

test('a client that closes its connection leaves the session, and another can load it', async (t) => {
  const { url, live } = await startLive(t, { script: [[{ text: 'Hello.' }]] });
  const editor = editorOver(t, url);
  const { sessionId } = await editor.open();
  await editor.prompt('hi');
  assert.deepEqual(
    live.clients.map(({ name, kind }) => [name, kind]),
    [['zed', 'acp']],
  );
  editor.connection.close();
  while (live.clients.length > 0) await new Promise(setImmediate);
  const again = editorOver(t, url);
  await again.initialize();
  await again.load(sessionId);
  assert.deepEqual([again.heard, again.text], [['hi'], 'Hello.']);
});

/** A server with nothing but the transport, whose connections have no sessions. */
async function startTransport(t: TestContext, own: Partial<AcpHttpOptions> = {}) {
  const agent = createAgent({ name: 'Echo', description: 'Echoes.' }, async function* () {});
  const closed: Promise<void>[] = [];
  const join = () => {
    throw new Error('no session');
  };
  const routes = acpRoutes({
    path: '/acp',
    serve(stream) {
      const served = serveAcp(stream, { version: VERSION, logger: silent, join });
      closed.push(served.closed);
      return served;
    },
    ...own,
  });
  const authenticate = bearerTokens(
    new Map([
      ['ann', 'a'],
      ['bob', 'b'],
    ]),
  );
  const listening = await serve(agent, { routes, authenticate, logger: silent }).listen(0);
  t.after(() => listening.close(0));
  const send = (method: string, headers: Record<string, string> = {}, body?: unknown, who = 'a') =>
    fetch(`${listening.url}/acp`, {
      method,
      headers: { authorization: `Bearer ${who}`, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const initialize = (who?: string) => {
    const params = { protocolVersion: 1 };
    return send('POST', JSON_TYPE, { jsonrpc: '2.0', id: 1, method: 'initialize', params }, who);
  };
  return { send, initialize, closed, url: listening.url };
}

test('a request is refused as the transport says, and by everybody but its own user', async (t) => {
  const { send, initialize, url } = await startTransport(t);
  const status = async (answer: Promise<Response>) => {
    const response = await answer;
    await response.body?.cancel();
    return response.status;
  };
  const opened = await initialize();
  const { result } = (await opened.json()) as { result: { protocolVersion: number } };
  assert.deepEqual([opened.status, result.protocolVersion], [200, 1]);
  const own = { 'acp-connection-id': opened.headers.get('acp-connection-id') ?? '' };
  const accept = { accept: 'text/event-stream' };
  const ping = { jsonrpc: '2.0', id: 2, method: 'session/list', params: {} };
  assert.equal((await fetch(`${url}/acp`, { method: 'POST', headers: JSON_TYPE })).status, 401);
  const page = { ...JSON_TYPE, origin: 'http://evil.example' };
  assert.equal(await status(send('POST', page, ping)), 403, 'a web page');
  assert.equal(await status(send('POST', { ...own, 'content-type': 'text/plain' }, ping)), 415);
  assert.equal(await status(send('POST', JSON_TYPE, ping)), 400, 'no connection');
  assert.equal(await status(send('POST', { ...JSON_TYPE, ...own }, [ping])), 400, 'a batch');
  assert.equal(await status(send('GET', own)), 406, 'no event stream');
  assert.equal(await status(send('GET', { ...own, ...accept }, undefined, 'b')), 404, 'of Ann');
  const reading = await send('GET', { ...own, ...accept });
  assert.equal(reading.status, 200);
  assert.equal(await status(send('GET', { ...own, ...accept })), 409, 'a second reader');
  assert.equal(await status(send('DELETE', own)), 202);
  assert.equal(await status(send('POST', { ...JSON_TYPE, ...own }, ping)), 404, 'closed');
  assert.equal(await reading.text(), '');
});

test('an id that is neither a text nor a number is refused, not an internal error', async (t) => {
  const { send } = await startTransport(t);
  const params = { protocolVersion: 1 };
  const request = { jsonrpc: '2.0', id: { a: 1 }, method: 'initialize', params };
  const refused = await send('POST', JSON_TYPE, request);
  assert.equal(refused.status, 400);
});

test('the number of connections is limited', async (t) => {
  const { initialize } = await startTransport(t, { maxConnections: 1 });
  assert.equal((await initialize()).status, 200);
  const refused = await initialize();
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5']);
});

test('why a connection could not be opened stays on the server', async (t) => {
  const fail = () => {
    throw new Error('secret path');
  };
  const { initialize } = await startTransport(t, { serve: fail });
  const refused = await initialize();
  assert.equal(refused.status, 500);
  assert.doesNotMatch(await refused.text(), /secret/);
});

test('a connection that nobody uses is closed', async (t) => {
  const { initialize, closed } = await startTransport(t, { idleMs: 5 });
  await initialize();
  await closed[0];
});
