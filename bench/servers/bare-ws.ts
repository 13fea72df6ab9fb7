// The baseline for a broadcast: the bare `ws` library. Sends each frame of a list to every client, one frame per turn
// of the event loop.
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({
  port: 0,
  host: '127.0.0.1',
  perMessageDeflate: false,
  maxPayload: 64 * 1024 * 1024,
});

async function broadcast(frames: readonly string[]): Promise<void> {
  for (const frame of frames) {
    const bytes = Buffer.from(frame);
    for (const client of server.clients) client.send(bytes, { binary: false });
    await turn();
  }
}

server.on('connection', (socket) => {
  socket.on('message', (data: Buffer) => {
    void broadcast(JSON.parse(data.toString()) as string[]);
  });
});
server.on('listening', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ port }));
});
