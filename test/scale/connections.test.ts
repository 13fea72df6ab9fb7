// Many connections and streams at the same time. The server is a process of its own, because each end needs a file.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Connection, messageRequest, rpcRequest } from '../../bench/driver.ts';
import { startSubject } from '../../bench/subject.ts';

const COUNT = 10_000;
const AT_ONCE = 100;
/** Each connection or stream may take this much memory. */
const MAX_BYTES_EACH = 40_000;

const skip = process.env['PARLEY_TEST_SCALE'] === undefined;

async function times<Item>(count: number, make: () => Promise<Item>): Promise<Item[]> {
  const made: Item[] = [];
  while (made.length < count) {
    made.push(...(await Promise.all(Array.from({ length: AT_ONCE }, make))));
  }
  return made;
}

test(
  '10,000 idle connections and 10,000 streams take little memory, and others are served',
  { skip },
  async (t) => {
    const main = join(import.meta.dirname, '../../src/cli/main.ts');
    const flags = ['--agent', 'bench', '--port', '0', '--json', '--store', 'memory'];
    const server = await startSubject({ name: 'parley', command: [main, 'serve', ...flags] });
    t.after(() => server.stop());
    const used = async () => {
      const { heapUsed, external } = await server.memory();
      return heapUsed + external;
    };
    const hold = await Connection.open(server.port);
    await hold.follow(messageRequest('SendStreamingMessage', 'hold'), 2);
    const client = await Connection.open(server.port);
    const { body } = await client.send(rpcRequest('ListTasks', { pageSize: 1 }));
    const [task] = JSON.parse(body).result.tasks as { id: string }[];
    const before = await used();

    const sockets = await times(
      COUNT,
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(server.port, '127.0.0.1', () => resolve(socket));
          socket.once('error', reject);
          // Half of a request: the server waits for the rest of its headers.
          socket.write('POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n');
        }),
    );
    const connected = (await used()) - before;
    t.diagnostic(
      `${COUNT} connections: ${Math.round(connected / COUNT)} bytes each, rss ${Math.round(server.rss() / 1e6)} MB`,
    );
    assert.ok(
      (await client.send(messageRequest('SendMessage', 'echo hello'))).body.includes('hello'),
    );
    for (const socket of sockets) socket.destroy();

    const request = rpcRequest('SubscribeToTask', { id: task?.id });
    const streams = await times(COUNT, async () => {
      const stream = await Connection.open(server.port);
      await stream.follow(request, 1);
      return stream;
    });
    const streaming = (await used()) - before;
    t.diagnostic(
      `${COUNT} streams: ${Math.round(streaming / COUNT)} bytes each, rss ${Math.round(server.rss() / 1e6)} MB`,
    );
    assert.ok(
      (await client.send(messageRequest('SendMessage', 'echo hello'))).body.includes('hello'),
    );
    for (const stream of streams) stream.close();
    assert.ok(connected < COUNT * MAX_BYTES_EACH && streaming < COUNT * MAX_BYTES_EACH);
  },
);
