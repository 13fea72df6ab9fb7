/** What the interop tests share: bounded waiting, servers that end with their test, a webhook. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { RequestHandler } from 'express';
import type { Logger } from '../../src/server.ts';
import { within as bounded } from '../support/within.ts';

/** Waits for a promise, but not for ever: a peer that hangs fails its test, and says in what. */
export async function within<T>(what: string, promise: Promise<T>, ms = 5000): Promise<T> {
  return bounded(what, promise, ms);
}

/** Asks again, without a fixed wait, until the answer is as it should be. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  good: (answer: T) => boolean,
): Promise<T> {
  const end = performance.now() + 5000;
  for (;;) {
    const answer = await ask();
    if (good(answer)) return answer;
    if (performance.now() > end) throw new Error(`${what}: last seen ${JSON.stringify(answer)}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The code, or whatever `read` makes of it, of the error with which `call` is refused. */
export async function refusal<T>(call: () => Promise<unknown>, read: (error: unknown) => T) {
  try {
    const answer = await within('a refusal', call());
    throw new Error(`not refused, but answered: ${JSON.stringify(answer)}`);
  } catch (error) {
    return read(error);
  }
}

export const quiet: Logger = { info() {}, warn() {}, error() {}, debug() {} };

export interface Hosted {
  readonly url: string;
  /** Breaks every stream that is open right now, as a dying network does. */
  readonly cut: () => void;
  /** The address of its gRPC server, if it has one. */
  readonly grpc?: string;
}

/** Puts a request listener on a free loopback port until the test ends. */
export async function host(t: TestContext, listener: RequestListener): Promise<Hosted> {
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    open.add(response);
    response.once('close', () => open.delete(response));
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      for (const response of open) {
        if (response.getHeader('content-type') === 'text/event-stream') response.socket?.destroy();
      }
    },
  };
}

/** For Express: lets only those in who have the token; without one, everybody. */
export function demandToken(token: string | undefined): RequestHandler {
  return (request, response, next) => {
    if (token === undefined || request.headers.authorization === `Bearer ${token}`) next();
    else response.status(401).set('WWW-Authenticate', 'Bearer').send('Who are you?');
  };
}

export interface Delivered {
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export interface Webhook {
  readonly url: string;
  readonly delivered: readonly Delivered[];
  /** Resolves with all deliveries once there are `count` of them. */
  atLeast(count: number): Promise<readonly Delivered[]>;
}

/** A webhook on loopback that takes everything. */
export async function startWebhook(t: TestContext): Promise<Webhook> {
  const delivered: Delivered[] = [];
  const { url } = await host(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Delivered['body'];
      delivered.push({ headers: request.headers, body });
      response.writeHead(204).end();
    });
  });
  return {
    url: `${url}/hook`,
    delivered,
    atLeast: (count) =>
      until(
        'webhook deliveries',
        () => delivered,
        (all) => all.length >= count,
      ),
  };
}

/** Something that waits until the test lets it go on. */
export interface Gates {
  /** Waits for `key` to be opened, or for the signal. */
  wait(key: string, signal?: AbortSignal): Promise<void>;
  open(key: string): void;
}

export function createGates(): Gates {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (key: string) => {
    let found = gates.get(key);
    if (!found) gates.set(key, (found = Promise.withResolvers<void>()));
    return found;
  };
  return {
    wait(key, signal) {
      const { promise, reject } = gate(key);
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      return promise;
    },
    open: (key) => gate(key).resolve(),
  };
}
