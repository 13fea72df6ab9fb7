// A remote agent that says what a test tells it to, in 0.3's JSON-RPC, byte for byte where it matters.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

export interface Asked {
  readonly method: string;
  readonly params: {
    readonly id?: string;
    readonly message?: { readonly messageId: string; readonly taskId?: string };
  };
  readonly headers: IncomingHttpHeaders;
  readonly response: ServerResponse;
  /** An event of a stream. */
  readonly say: (...events: readonly object[]) => void;
  readonly answer: (result: unknown) => void;
  readonly refuse: (code: number, message: string) => void;
}

export interface Liar {
  readonly url: string;
  /** The methods that were called so far. */
  readonly calls: string[];
  /** Resolves once the method was called. */
  readonly called: (method: string) => Promise<void>;
}

export async function liar(
  t: TestContext,
  speak: (asked: Asked) => void,
  card: (origin: string) => object | undefined = cardOf,
): Promise<Liar> {
  const calls: string[] = [];
  const waiting: { method: string; resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    const origin = `http://${request.headers.host}`;
    if (request.method === 'GET') {
      const shown = card(origin);
      // Nothing: it does not answer.
      if (!shown) return;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(shown));
      return;
    }
    void text(request).then((body) => {
      const { id, method, params }: { id: number } & Pick<Asked, 'method' | 'params'> =
        JSON.parse(body);
      calls.push(method);
      for (const each of waiting) if (each.method === method) each.resolve();
      const whole = (outcome: object): void => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
      };
      speak({
        method,
        params,
        headers: request.headers,
        response,
        say(...events) {
          if (!response.headersSent) {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
          }
          for (const result of events) {
            response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
          }
        },
        answer: (result) => whole({ result }),
        refuse(code, message) {
          if (!response.headersSent) return whole({ error: { code, message } });
          const error = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
          response.end(`data: ${error}\n\n`);
        },
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    called: (method) =>
      new Promise((resolve) => {
        if (calls.includes(method)) resolve();
        else waiting.push({ method, resolve });
      }),
  };
}

export function cardOf(origin: string): object {
  return {
    name: 'Liar',
    description: 'Says what it likes',
    version: '1',
    protocolVersion: '0.3.0',
    url: `${origin}/rpc`,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
}

const IDS = { taskId: 'T', contextId: 'C' };

export function taskOf(state: string, ...artifacts: readonly (readonly [string, string])[]) {
  return {
    kind: 'task',
    id: 'T',
    contextId: 'C',
    status: { state },
    artifacts: artifacts.map(([artifactId, words]) => ({ artifactId, parts: textOf(words) })),
  };
}

export function statusOf(state: string, words?: string, rest: object = {}) {
  const message = words !== undefined && {
    message: { kind: 'message', messageId: `m-${words}`, role: 'agent', parts: textOf(words) },
  };
  const final = state !== 'working';
  return { kind: 'status-update', ...IDS, status: { state, ...message }, final, ...rest };
}

export function chunkOf(artifactId: string, words: string, rest: object = {}) {
  const artifact = { artifactId, parts: textOf(words) };
  return { kind: 'artifact-update', ...IDS, artifact, ...rest };
}

export function textOf(words: string) {
  return [{ kind: 'text', text: words }];
}
