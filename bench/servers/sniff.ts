// The listener of our server with a bare handler. With the argument `plain`, it does not tell HTTP/2 apart.
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { openListener } from '../../src/http/adapters/listener.ts';
import type { HttpHandler } from '../../src/http/adapters/messages.ts';

const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { message: 'x'.repeat(200) } });

const node: HttpHandler = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString());
    response.writeHead(200, [
      'content-type',
      'application/json',
      'content-length',
      String(body.length),
    ]);
    response.end(body, 'latin1');
  });
};

const listener = await openListener(0, '127.0.0.1', {
  node,
  upgrades: undefined,
  requestTimeoutMs: 60_000,
});
if (process.argv[2] === 'plain') {
  const { server } = listener;
  const [accept] = createServer().listeners('connection');
  const sockets = new Set<Socket>();
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    Reflect.apply(accept!, server, [socket]);
  });
}
console.log(JSON.stringify({ port: listener.port }));
