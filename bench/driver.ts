/**
 * Generates the load: HTTP/1.1 over raw sockets, so that the driver uses little CPU and is the same for every server.
 * It parses only as much HTTP as is needed to count events and to find the end of a response.
 */
import { connect, type Socket } from 'node:net';

let serial = 0;

/** Number of requests in progress at which `pacedLoad` waits for responses. */
const MAX_PACED_CONNECTIONS = 64;

/** The path and key of a request that does not go to the root agent. */
export interface Door {
  readonly path: string;
  readonly key: string;
}

/** Returns a JSON-RPC request of A2A 1.0 with a new message id. */
export function messageRequest(method: string, text: string, door?: Door): string {
  const messageId = `bench-${process.pid}-${++serial}`;
  const message = { messageId, role: 'ROLE_USER', parts: [{ text }] };
  return rpcRequest(method, { message }, door);
}

export function rpcRequest(method: string, params: object, door?: Door): string {
  const body = { jsonrpc: '2.0', id: 1, method, params };
  return postRequest(body, door, 'A2A-Version: 1.0\r\n');
}

/** Returns a request with a JSON body. `headers` are lines with their ends. */
export function postRequest(content: object, door?: Door, headers = ''): string {
  const body = JSON.stringify(content);
  const key = door ? `Authorization: Bearer ${door.key}\r\n` : '';
  return `POST ${door?.path ?? '/'} HTTP/1.1\r\nHost: 127.0.0.1\r\n${key}Content-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export interface Answer {
  readonly events: number;
  readonly firstEventMs: number;
  readonly ms: number;
  /** The body of a response that is not a stream. */
  readonly body: string;
}

const DATA = Buffer.from('data: ');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

export class Connection {
  readonly socket: Socket;
  #head = '';
  #inHead = true;
  #expected = 0;
  #chunked = false;
  #body: Buffer[] = [];
  #received = 0;
  #events = 0;
  #tail: Buffer = Buffer.alloc(0);
  #startedAt = 0;
  #firstEventAt = 0;
  #resolve: ((answer: Answer) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  #onEvent: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#data(chunk));
    socket.on('close', () => this.#reject?.(new Error('the connection was closed')));
    socket.on('error', () => {});
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  send(request: string): Promise<Answer> {
    this.#head = '';
    this.#inHead = true;
    this.#body = [];
    this.#received = 0;
    this.#events = 0;
    this.#tail = Buffer.alloc(0);
    this.#firstEventAt = 0;
    this.#startedAt = performance.now();
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.socket.write(request);
    });
  }

  /** Sends a request for a stream, and resolves when `count` events have arrived. */
  follow(request: string, count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onEvent = () => {
        if (this.#events >= count) resolve();
      };
      this.send(request).then(
        ({ events, body }) =>
          events >= count ? resolve() : reject(new Error(`no stream, but ${body}`)),
        reject,
      );
    });
  }

  close(): void {
    this.#reject = undefined;
    this.socket.destroy();
  }

  #data(chunk: Buffer): void {
    let rest = chunk;
    if (this.#inHead) {
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      rest = chunk.subarray(chunk.length - (this.#head.length - end - 4));
      this.#inHead = false;
      this.#chunked = /transfer-encoding: *chunked/i.test(this.#head);
      this.#expected = Number(/content-length: *(\d+)/i.exec(this.#head)?.[1] ?? 0);
    }
    if (this.#chunked) this.#stream(rest);
    else this.#full(rest);
  }

  #full(chunk: Buffer): void {
    this.#received += chunk.length;
    this.#body.push(chunk);
    if (this.#received >= this.#expected) this.#done();
  }

  #stream(chunk: Buffer): void {
    if (chunk.length === 0) return;
    const text = this.#tail.length > 0 ? Buffer.concat([this.#tail, chunk]) : chunk;
    for (let at = text.indexOf(DATA); at >= 0; at = text.indexOf(DATA, at + DATA.length)) {
      if (this.#events++ === 0) this.#firstEventAt = performance.now();
    }
    if (this.#onEvent) this.#onEvent();
    if (text.length >= 5 && text.subarray(-5).equals(LAST_CHUNK)) return this.#done();
    this.#tail = text.subarray(-(DATA.length - 1));
  }

  #done(): void {
    const now = performance.now();
    const resolve = this.#resolve;
    this.#resolve = this.#reject = undefined;
    resolve?.({
      events: this.#events,
      firstEventMs: this.#firstEventAt - this.#startedAt,
      ms: now - this.#startedAt,
      body: this.#chunked ? '' : Buffer.concat(this.#body).toString(),
    });
  }
}

/**
 * Sends `total` requests over `connections` connections. A connection sends its next request when it has the response.
 */
export async function load(
  port: number,
  connections: number,
  total: number,
  request: () => string,
): Promise<{ readonly events: number; readonly firstEventMs: number[] }> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(port)));
  let left = total;
  let events = 0;
  const firstEventMs: number[] = [];
  await Promise.all(
    open.map(async (connection) => {
      while (left-- > 0) {
        const answer = await connection.send(request());
        events += answer.events;
        if (answer.events > 0) firstEventMs.push(answer.firstEventMs);
      }
    }),
  );
  for (const connection of open) connection.close();
  return { events, firstEventMs };
}

/**
 * Sends `rate` requests per second for `seconds`, and returns their number. Unlike `load`, the rate does not depend on
 * how fast the server answers, so servers with different speeds do the same work in the same time.
 */
export async function pacedLoad(
  port: number,
  rate: number,
  seconds: number,
  request: () => string,
): Promise<number> {
  const total = rate * seconds;
  const free = await Promise.all(
    Array.from({ length: MAX_PACED_CONNECTIONS }, () => Connection.open(port)),
  );
  const answers: Promise<unknown>[] = [];
  const begun = performance.now();
  while (answers.length < total) {
    const due = Math.min(total, ((performance.now() - begun) / 1000) * rate);
    while (answers.length < due) {
      const connection = free.pop();
      // The requests that are late are sent when connections are free again.
      if (!connection) break;
      answers.push(connection.send(request()).then(() => free.push(connection)));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(answers);
  for (const connection of free) connection.close();
  return total;
}
