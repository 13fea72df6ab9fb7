import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../../protocol/index.ts';
import { serve } from '../../server.ts';
import { createAgent } from '../../tasks/index.ts';

test('an open stream keeps only those headers of its request that a call reads', async (t) => {
  const seen: { call?: Call; header?: (name: string) => string | undefined } = {};
  const agent = createAgent({ name: 'A', description: 'Waits' }, async function* () {
    yield 'held';
    await new Promise(() => {});
  });
  const server = serve(agent, {
    limits: { graceMs: 10 },
    authenticate: ({ header }) => {
      seen.header = header;
      return { id: 'ada' };
    },
    guard: (handler) => ({
      ...handler,
      streamMessage: (params, call, after) => {
        if (call) seen.call = call;
        return handler.streamMessage(params, call, after);
      },
    }),
  });
  const listening = await server.listen();
  t.after(() => server.close(0));
  t.after(() => listening.close(0));
  const { url } = listening;
  const parts = [{ kind: 'text', text: 'hold' }];
  const message = { kind: 'message', messageId: 'm1', role: 'user', parts };
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent, authorization: 'Bearer secret' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } }),
  });
  await response.body?.getReader().read();
  assert.equal(seen.call?.base, new URL(url).origin);
  assert.equal(seen.call.traceparent, traceparent);
  assert.equal(seen.header?.('authorization'), undefined);
});
