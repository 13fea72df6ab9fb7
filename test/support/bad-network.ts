import { once } from 'node:events';
import { connect as dial, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A network between client and server that cuts every connection after some bytes of answer. */
export async function startBadNetwork(t: TestContext, target: () => number) {
  let budget = () => Number.POSITIVE_INFINITY;
  let cuts = 0;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = dial(target(), '127.0.0.1');
    let left = budget();
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        server.destroy();
        sockets.delete(socket);
      });
    }
    client.pipe(server);
    server.on('data', (bytes) => {
      if (bytes.length < left) {
        left -= bytes.length;
        client.write(bytes);
        return;
      }
      cuts++;
      client.write(bytes.subarray(0, left), () => client.destroy());
      left = 0;
      server.pause();
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cuts: () => cuts,
    /** From now on; connections that are open are cut at once. */
    allow(bytes: () => number) {
      budget = bytes;
      for (const socket of sockets) socket.destroy();
    },
  };
}
