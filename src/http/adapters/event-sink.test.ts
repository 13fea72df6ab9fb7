import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { opening, TaskStream } from '../../tasks/index.ts';
import { PendingBytes } from '../pending-bytes.ts';
import { EventSink } from './event-sink.ts';
import { Heartbeat } from './heartbeat.ts';
import { Pace } from './pace.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

test('the time since which a client has not read begins anew each time that it reads', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const request = get({ port, host: '127.0.0.1' });
  request.on('response', (response: IncomingMessage) => response.pause());
  t.after(() => request.destroy());
  t.after(() => server.close());
  const [, response] = await once(server, 'request');
  const reply = { headers: {}, client: '', stream: TaskStream.empty(), release() {} };
  const item = opening({ kind: 'message', messageId: 'm', role: 'agent', parts: [] });
  const frame = () => 'x'.repeat(100_000);
  const sink = new EventSink(response, { ...reply, frame }, new Pace(), {
    stallMs: 1e6,
    logger,
    unread: new Set(),
    pending: new PendingBytes({ maxPendingBytes: 1e9, maxPendingBytesPerClient: 1e9 }),
    heartbeat: new Heartbeat({ heartbeatMs: 1e6, stallMs: 1e6 }),
  });
  sink.listen();
  sink.writeHead({});
  const [answer] = await Promise.all([once(request, 'response'), response.flushHeaders()]);
  for (let round = 0; round < 3; round++) {
    assert.equal(sink.stalledAt, undefined);
    while (sink.take(item, false)) await new Promise(setImmediate);
    const since = sink.stalledAt;
    assert.equal(typeof since, 'number');
    assert.equal(sink.take(item, false), false);
    assert.equal(sink.stalledAt, since, 'another event does not count as reading');
    answer[0].resume();
    await once(response, 'drain');
    answer[0].pause();
  }
});
