/** A WebSocket as its frames: sends what it is told, and keeps what comes. */
import type { TestContext } from 'node:test';
import { WebSocket, type ClientOptions } from 'ws';

export interface Frame {
  readonly jsonrpc: string;
  readonly id?: number | string | null;
  readonly method?: string;
  // What is in it is what the tests look at.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly params?: any;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result?: any;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly error?: any;
}

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

export class RawClient {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly opened: Promise<void>;
  /** The status of an answer that is no upgrade. */
  readonly refused: Promise<number>;
  readonly closed: Promise<Closed>;
  #waiting: (() => void)[] = [];
  #lastId = 0;

  constructor(
    t: TestContext,
    url: string,
    protocols: string | string[] = [],
    options: ClientOptions = {},
  ) {
    this.socket = new WebSocket(url, protocols, { perMessageDeflate: false, ...options });
    t.after(() => this.socket.terminate());
    this.socket.on('error', () => undefined);
    this.opened = new Promise((resolve) => this.socket.once('open', resolve));
    this.refused = new Promise((resolve) => {
      this.socket.once('unexpected-response', (_request, response) => {
        resolve(response.statusCode ?? 0);
        response.resume();
      });
    });
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    this.socket.on('message', (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString()) as Frame);
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  /** The first frame that fits, from the `from`th on. */
  async frame(fits: (frame: Frame) => boolean, from = 0): Promise<Frame> {
    for (let at = from; ; at++) {
      while (at >= this.frames.length) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      if (fits(this.frames[at]!)) return this.frames[at]!;
    }
  }

  snapshot(): Promise<Frame> {
    return this.frame(({ method }) => method === 'session/snapshot');
  }

  /** Waits for the event that ends so many turns in this state. */
  async state(state: string, times = 1): Promise<Frame> {
    let left = times;
    return this.frame(({ method, params }) => {
      if (method !== 'tasks/event' || !params.event.final) return false;
      return params.event.status.state === state && --left === 0;
    });
  }

  /** The first call that waits for an answer, after `skipped` others. */
  async pending(
    skipped = 0,
  ): Promise<{ readonly tool_call_id: string; readonly correlationId: string }> {
    let left = skipped;
    const { params } = await this.frame(
      ({ method, params: told }) =>
        method === 'tasks/event' &&
        told.event.status?.message?.parts?.[0]?.data?.confirmation_request !== undefined &&
        left-- === 0,
    );
    return params.event.status.message.parts[0].data;
  }

  async ask(method: string, params: unknown = {}): Promise<Frame> {
    const id = ++this.#lastId;
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return this.frame((frame) => frame.id === id);
  }

  say(text: string, method = 'message/send'): Promise<Frame> {
    const parts = [{ kind: 'text', text }];
    const messageId = `${Math.random()}`;
    return this.ask(method, { message: { kind: 'message', messageId, role: 'user', parts } });
  }
}
