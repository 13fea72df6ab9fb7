/**
 * An agent of A2A 1.0 with bare node:http, behind the proxies of gateway.ts. Each event is a packet of its own, which
 * our own server does not guarantee: it joins events that follow each other within a few milliseconds.
 */
import { createServer, type ServerResponse } from 'node:http';
import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

function cardAt(url: string) {
  return {
    name: 'Bench',
    description: 'Sends messages and tasks of a given size.',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'bench', name: 'bench', description: 'Sends events.', tags: ['bench'] }],
  };
}

/** Sends a task of `count` events, one every `ms` milliseconds. */
async function sendTask(
  send: (result: object, seq: number) => void,
  count: number,
  size: number,
  ms: number,
): Promise<void> {
  const ids = { taskId: randomUUIDv7(), contextId: randomUUIDv7() };
  const status = (state: string) => ({ state, timestamp: new Date().toISOString() });
  const { taskId: id, contextId } = ids;
  send({ task: { id, contextId, status: status('TASK_STATE_SUBMITTED') } }, 1);
  send({ statusUpdate: { ...ids, status: status('TASK_STATE_WORKING') } }, 2);
  for (let seq = 3; seq < count; seq++) {
    await sleep(ms);
    const artifact = { artifactId: 'chunks', parts: [{ text: 'x'.repeat(size) }] };
    send({ artifactUpdate: { ...ids, artifact, append: seq > 3 } }, seq);
  }
  await sleep(ms);
  send({ statusUpdate: { ...ids, status: status('TASK_STATE_COMPLETED') } }, count);
}

function answer(response: ServerResponse, body: string): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(200, headers).end(body);
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    return answer(response, JSON.stringify(cardAt(`http://${request.headers.host}/`)));
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    const envelope = (result: object) => JSON.stringify({ jsonrpc: '2.0', id, result });
    const [word, ...words]: string[] = params.message.parts[0].text.split(' ');
    const parts = [{ text: words.join(' ') }];
    const contextId = randomUUIDv7();
    const message = { messageId: randomUUIDv7(), contextId, role: 'ROLE_AGENT', parts };
    if (method !== 'SendStreamingMessage') return answer(response, envelope({ message }));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    if (word === 'echo') return void response.end(`data: ${envelope({ message })}\n\n`);
    const [count = 3, size = 16, ms = 2] = words.map(Number);
    const send = (result: object, seq: number) =>
      response.write(`id: ${seq}\ndata: ${envelope(result)}\n\n`);
    void sendTask(send, count, size, ms).then(() => response.end());
  });
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
