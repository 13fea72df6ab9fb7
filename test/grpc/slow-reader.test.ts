import assert from 'node:assert/strict';
import { connect as openSession, constants } from 'node:http2';
import { test } from 'node:test';
import { fromJson, toBinary } from '@bufbuild/protobuf';
import { serviceSchema } from '../../src/grpc/codec/index.ts';
import { createAgent } from '../../src/server.ts';
import { until } from '../interop/support.ts';
import { genericClient, serveGrpc } from '../support/grpc.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

test('a client that stops reading holds no other client, and is disconnected', async () => {
  const flood = createAgent({ name: 'Flood', description: 'Says a lot' }, async function* () {
    for (let chunk = 0; chunk < 60; chunk++) {
      yield { kind: 'text', text: 'x'.repeat(20_000) };
      await new Promise(setImmediate);
    }
  });
  const limits = { stallMs: 100, heartbeatMs: 50 };
  await using served = await serveGrpc(flood, { limits, logger: quiet });
  const session = openSession(`http://${served.address}`);
  try {
    const { input } = serviceSchema('lf.a2a.v1.A2AService').method.sendStreamingMessage!;
    const parts = [{ text: 'go' }];
    const message = { messageId: 'slow', role: 'ROLE_USER', parts };
    const bytes = toBinary(input, fromJson(input, { message }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(bytes.length, 1);
    const slow = session.request({
      ':method': 'POST',
      ':path': '/lf.a2a.v1.A2AService/SendStreamingMessage',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    slow.pause();
    const closed = new Promise((resolve) => slow.once('close', resolve));
    slow.on('error', () => {});
    slow.end(Buffer.concat([prefix, bytes]));

    using client = genericClient(served.address, 'lf.a2a.v1.A2AService');
    let events = 0;
    const other = { message: { ...message, messageId: 'quick' } };
    for await (const _ of client.stream('SendStreamingMessage', other)) events++;
    assert.ok(events > 60, String(events));
    await until(
      'the slow client is disconnected',
      async () => served.agent.streams,
      (open) => open === 0,
    );
    session.destroy();
    await closed;
  } finally {
    session.destroy();
  }
});

test('a client that grants no window for a short answer is disconnected too', async (t) => {
  const short = createAgent({ name: 'Short', description: 'Says little' }, async function* () {
    yield 'hello';
  });
  const limits = { stallMs: 100, heartbeatMs: 50 };
  await using served = await serveGrpc(short, { limits, logger: quiet });
  const session = openSession(`http://${served.address}`, { settings: { initialWindowSize: 0 } });
  t.after(() => session.destroy());
  const { sendMessage } = serviceSchema('lf.a2a.v1.A2AService').method;
  const { input } = sendMessage!;
  for (const method of ['SendMessage', 'SendStreamingMessage']) {
    const message = { messageId: method, role: 'ROLE_USER', parts: [{ text: 'go' }] };
    const bytes = toBinary(input, fromJson(input, { message }));
    const stream = session.request({
      ':method': 'POST',
      ':path': `/lf.a2a.v1.A2AService/${method}`,
      'content-type': 'application/grpc',
    });
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.on('error', () => {});
    stream.resume().end(Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.length]), bytes]));
    await closed;
    assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
  }
});
