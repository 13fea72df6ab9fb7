// The baseline: bare node:http. It parses the body, answers with JSON of the same size, and streams with backpressure.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';

const contextId = '01a1de83-ec38-720c-9a18-5be34baa6db7';
const parts = [{ text: 'hello' }];
const message = { messageId: contextId, contextId, role: 'ROLE_AGENT', parts };

async function stream(response: ServerResponse, id: unknown, words: string[]): Promise<void> {
  const [word, count = '2', size = '16', pace] = words;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (let seq = 1; seq <= Number(count); seq++) {
    const artifact = { artifactId: 'chunks', parts: [{ text: 'x'.repeat(Number(size)) }] };
    const result = { artifactUpdate: { taskId: contextId, contextId, artifact, append: true } };
    const frame = `id: ${seq}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
    if (!response.write(frame)) await once(response, 'drain');
    if (pace !== 'burst') await turn();
  }
  if (word !== 'hold') response.end();
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { id, params } = JSON.parse(Buffer.concat(chunks).toString());
    const words: string[] = params.message.parts[0].text.split(' ');
    if (words[0] !== 'echo') return void stream(response, id, words);
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: { message } });
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    return void response.writeHead(200, headers).end(body);
  });
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
