// Bare node:http, the yardstick: read the body, parse it, answer with JSON of the same size, stream with backpressure.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';

const uuid = '01a1de83-ec38-720c-9a18-5be34baa6db7';
const ids = { taskId: uuid, contextId: uuid };
const answer = (id: unknown, text: string) => {
  const message = { messageId: uuid, contextId: uuid, role: 'ROLE_AGENT', parts: [{ text }] };
  return JSON.stringify({ jsonrpc: '2.0', id, result: { message } });
};

async function stream(response: ServerResponse, id: unknown, count: number, size: number, pace: string) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (let seq = 1; seq <= count; seq++) {
    const artifact = { artifactId: 'chunks', parts: [{ text: 'x'.repeat(size) }] };
    const result = { artifactUpdate: { ...ids, artifact, append: true } };
    const frame = `id: ${seq}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
    if (!response.write(frame)) await once(response, 'drain');
    if (pace !== 'burst') await turn();
  }
  if (pace !== 'hold') response.end();
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString());
    const [word, count, size = '16', pace = ''] = params.message.parts[0].text.split(' ');
    if (word === 'task') return void stream(response, id, Number(count), Number(size), pace);
    if (word === 'hold') return void stream(response, id, 2, 16, 'hold');
    const body = answer(id, 'hello');
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ ready: true, ...(server.address() as object) })));
