import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { createAgent, serve } from '../../server.ts';
import { grpcOptions, listenOn } from './listen.ts';

const flags = (port?: string, off = false) => ({ 'grpc-port': port, 'no-grpc': off });

test('gRPC is on by default, can have its own port, and can be turned off', () => {
  const byDefault = grpcOptions(flags());
  assert.ok(byDefault.grpc);
  assert.equal(byDefault.grpcPort, undefined);
  assert.equal(grpcOptions(flags('50051')).grpcPort, 50_051);
  assert.deepEqual(grpcOptions(flags(undefined, true)), {});
});

test('flags of gRPC that cannot be used are refused with advice', () => {
  assert.throws(() => grpcOptions(flags('50051', true)), /contradict each other: remove one/);
  for (const port of ['x', '-1', '65536', '1.5']) {
    assert.throws(() => grpcOptions(flags(port)), /--grpc-port/);
  }
});

test('a port of gRPC that is in use is reported with its flag', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const agent = createAgent({ name: 'A', description: 'A' }, async function* () {
    yield 'x';
  });
  const server = serve(agent, grpcOptions(flags(String(port))));
  t.after(() => server.close(0));
  await assert.rejects(
    listenOn(server, { host: '127.0.0.1', port: 0, flag: '--port' }),
    new RegExp(`port ${port} is in use: .*--grpc-port`),
  );
});
