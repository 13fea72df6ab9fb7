/** A hand-written agent for the client's tests: a bare HTTP server that does exactly what the test says, on the wire. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { connect, type ConnectOptions } from '../../src/client/index.ts';
import type { AgentCard, Binding, ProtocolVersion } from '../../src/protocol/index.ts';

/** What the tests look at in a JSON-RPC request. */
export interface RequestBody {
  readonly id: number;
  readonly method: string;
  readonly params: {
    readonly id?: string;
    readonly message: Record<string, unknown>;
    readonly configuration?: object;
    readonly tenant?: string;
    readonly pageToken?: string;
  };
}

export interface Asked {
  readonly verb: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: RequestBody;
  /** Settles when the client has closed the connection of this request. */
  readonly gone: Promise<void>;
}

export interface Peer {
  readonly url: string;
  readonly asked: Asked[];
}

/** Starts a server whose answer to the n-th request (from 0) is the test's. It ends with the test. */
export async function startPeer(
  t: TestContext,
  answer: (asked: Asked, response: ServerResponse, n: number) => unknown,
): Promise<Peer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const one: Asked = {
        verb: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: text === '' ? {} : JSON.parse(text),
        gone: new Promise((resolve) => {
          response.on('close', resolve);
        }),
      };
      asked.push(one);
      void answer(one, response, asked.length - 1);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

export function cardOf(
  url: string,
  version: ProtocolVersion = '0.3',
  binding: Binding = 'JSONRPC',
): AgentCard {
  return {
    name: 'Peer',
    description: 'A peer',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: version }],
    capabilities: { streaming: true },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
}

/** A client of the peer that does not look for a card, does not wait long, and ends with the test. */
export async function clientOf(
  t: TestContext,
  url: string,
  { version, binding, ...options }: ConnectOptions = {},
) {
  const client = await connect(url, {
    card: cardOf(url, version, binding),
    retry: { attempts: 3, delayMs: 1 },
    ...options,
  });
  t.after(() => {
    client.close();
  });
  return client;
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A JSON-RPC result. */
export function reply({ body }: Asked, response: ServerResponse, result: unknown): void {
  sendJson(response, { jsonrpc: '2.0', id: body.id, result });
}

export function replyError({ body }: Asked, response: ServerResponse, code: number): void {
  sendJson(response, { jsonrpc: '2.0', id: body.id, error: { code, message: `error ${code}` } });
}

export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

/** Writes the same bytes for as long as the client takes them. */
export async function flood(
  { gone }: Asked,
  response: ServerResponse,
  bytes: string,
): Promise<void> {
  while (!response.closed) {
    if (!response.write(bytes)) await Promise.race([once(response, 'drain'), gone]);
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** One event of a JSON-RPC stream, as its bytes. */
export function frame(event: unknown, seq?: number): string {
  const data = JSON.stringify({ jsonrpc: '2.0', id: 1, result: event });
  return `${seq === undefined ? '' : `id: ${seq}\n`}data: ${data}\n\n`;
}

/** Breaks the connection, after what was written has left. */
export function breakOff(response: ServerResponse, last = ''): void {
  const { socket } = response;
  if (last === '') socket?.destroy();
  else response.write(last, () => socket?.destroy());
}

const ids = { taskId: 't1', contextId: 'c1' };

export function task(state = 'working', ...texts: string[]) {
  const artifacts =
    texts.length > 0
      ? [{ artifactId: 'a', parts: texts.map((text) => ({ kind: 'text', text })) }]
      : undefined;
  return { kind: 'task', id: 't1', contextId: 'c1', status: { state }, artifacts };
}

export function status(state: string, final = false) {
  return { kind: 'status-update', ...ids, status: { state }, final };
}

export function chunk(text: string) {
  const artifact = { artifactId: 'a', parts: [{ kind: 'text', text }] };
  return { kind: 'artifact-update', ...ids, artifact, append: true };
}

export function message(text: string) {
  return {
    kind: 'message',
    messageId: 'm1',
    role: 'agent',
    parts: [{ kind: 'text', text }],
  };
}
