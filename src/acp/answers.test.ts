import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyMessage } from '@agentclientprotocol/sdk';
import { askedOnly } from './answers.ts';

/** A peer in memory: `say` sends a message, `heard` collects the messages that pass the filter. */
function peer() {
  const toUs = new TransformStream<AnyMessage, AnyMessage>();
  const toPeer = new TransformStream<AnyMessage, AnyMessage>();
  const { readable, writable } = askedOnly({
    readable: toUs.readable,
    writable: toPeer.writable,
  });
  const [asking, saying] = [writable.getWriter(), toUs.writable.getWriter()];
  const sent = toPeer.readable.getReader();
  return {
    /** Resolves once the peer has received the message. */
    ask: async (message: AnyMessage) => {
      void asking.write(message);
      assert.deepEqual((await sent.read()).value, message);
    },
    say: (message: AnyMessage) => void saying.write(message),
    heard: async () => {
      void saying.close();
      const all: AnyMessage[] = [];
      for await (const message of readable) all.push(message);
      return all;
    },
  };
}

const answer = (id: string | number): AnyMessage => ({ jsonrpc: '2.0', id, result: {} });
const request = (id: number): AnyMessage => ({ jsonrpc: '2.0', id, method: 'm', params: {} });

test('a response passes once, and only if its request was sent', async () => {
  const { ask, say, heard } = peer();
  await ask(request(1));
  for (const id of [1, 1, 2, '1', '\u001b]0;title\u0007']) say(answer(id));
  assert.deepEqual(await heard(), [answer(1)]);
});

test('a response to a withdrawn request is dropped', async () => {
  const { ask, say, heard } = peer();
  await ask(request(1));
  await ask({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: 1 } });
  say(answer(1));
  assert.deepEqual(await heard(), []);
});

test('requests and notifications pass unchanged', async () => {
  const { say, heard } = peer();
  const told: AnyMessage = { jsonrpc: '2.0', method: 'n', params: {} };
  say(request(7));
  say(told);
  assert.deepEqual(await heard(), [request(7), told]);
});
