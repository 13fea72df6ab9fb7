import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askRest } from './http.ts';

const asked = { url: 'http://a.test/notes', method: 'GET', subject: 'push' } as const;

test('a request to a route of its own has the headers of the protocol, and its result is the JSON', async () => {
  const seen: unknown[] = [];
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    const headers = new Headers(init?.headers);
    seen.push(headers.get('a2a-version'), headers.get('authorization'), init?.body);
    return Response.json({ notes: [] });
  };
  const headers = { authorization: 'Bearer x' };
  const ask = { ...asked, method: 'POST', body: { a: 1 } };
  assert.deepEqual(await askRest(ask, { fetch, headers }), { notes: [] });
  assert.deepEqual(seen, ['1.0', 'Bearer x', '{"a":1}']);
});

test('a request to a route of its own has a timeout and a maximum size, and throws the error of the agent', async () => {
  const silent: typeof globalThis.fetch = (_input, init) =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
    });
  await assert.rejects(askRest(asked, { fetch: silent, timeoutMs: 1 }), {
    name: 'ConnectionError',
    reason: 'timeout',
  });
  const large = async () => Response.json('x'.repeat(100));
  await assert.rejects(askRest(asked, { fetch: large, maxResponseBytes: 50 }), /larger than 50/);
  const refused = async () => Response.json({}, { status: 404 });
  await assert.rejects(askRest(asked, { fetch: refused }), { name: 'A2AError' });
  const page = async () => new Response('<h1>', { headers: { 'content-type': 'text/html' } });
  await assert.rejects(askRest(asked, { fetch: page }), {
    kind: 'invalidAgentResponse',
    message: 'The agent answered HTTP 200 with text/html',
  });
});
