/** A TCP proxy that gives each connection to the next of its targets (round-robin), and that can cut connections. */
import { connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface TcpProxy {
  readonly port: number;
  /** Cuts open connections: all, or about the given share of them. */
  cut(share?: number): void;
  close(): Promise<void>;
}

export interface TcpProxyOptions {
  readonly port?: number;
  readonly host?: string;
  /** Returns a stream that changes what the target of one connection sends. */
  readonly replies?: () => Duplex;
  /** Returns a stream that changes what the client of one connection sends. */
  readonly requests?: () => Duplex;
}

/** Starts a proxy. A target that refuses the connection is skipped. `targets` returns their ports. */
export async function startTcpProxy(
  targets: () => readonly number[],
  { port = 0, host = '127.0.0.1', replies, requests }: TcpProxyOptions = {},
): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let next = 0;

  function pass(client: Socket, tries: number): void {
    const ports = targets();
    const target = ports[next++ % Math.max(1, ports.length)];
    if (target === undefined || tries >= ports.length) return void client.destroy();
    const server = connect(target, '127.0.0.1');
    let isConnected = false;
    server.once('connect', () => {
      isConnected = true;
      server.setNoDelay(true);
      (requests ? client.pipe(requests()) : client).pipe(server);
      (replies ? server.pipe(replies()) : server).pipe(client);
    });
    server.once('error', () => {
      if (isConnected || client.destroyed) client.destroy();
      else pass(client, tries + 1);
    });
    server.once('close', () => isConnected && client.destroy());
    client.once('close', () => server.destroy());
  }

  const server = createServer((client) => {
    open.add(client);
    client.setNoDelay(true);
    client.on('error', () => client.destroy());
    client.once('close', () => open.delete(client));
    pass(client, 0);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const cut = (share = 1) => {
    for (const socket of open) if (Math.random() < share) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
