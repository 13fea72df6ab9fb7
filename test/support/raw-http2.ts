/** A client of HTTP/2 that sends any frames it is told to, for tests of what hostile clients do. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;
const NOTHING = Buffer.alloc(0);
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, stream: number, payload: Buffer = NOTHING) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Encodes headers without compression. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
    const length = [127];
    let rest = bytes.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
    return Buffer.concat([Buffer.from([...length, rest]), bytes]);
  };
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}

/** A SETTINGS frame with these settings, by their numbers. */
export function settings(values: Readonly<Record<number, number>> = {}): Buffer {
  const all = Object.entries(values).map(([id, value]) => {
    const entry = Buffer.alloc(6);
    entry.writeUInt16BE(Number(id), 0);
    entry.writeUInt32BE(value, 2);
    return entry;
  });
  return frame(FRAME.settings, 0, 0, Buffer.concat(all));
}

export class RawHttp2 {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  #rest: Buffer = NOTHING;

  constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  /** Connects, and sends the preface and SETTINGS. */
  static async open(port: number, values: Readonly<Record<number, number>> = {}) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const client = new RawHttp2(socket);
    socket.write(Buffer.concat([Buffer.from(PREFACE), settings(values)]));
    return client;
  }

  send(...frames: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
  }

  headers(stream: number, headers: Readonly<Record<string, string>>, flags = END_STREAM): Buffer {
    const { remotePort = 0 } = this.socket;
    const all = { ':scheme': 'http', ':authority': `127.0.0.1:${remotePort}`, ...headers };
    return frame(FRAME.headers, END_HEADERS | flags, stream, headerBlock(all));
  }

  /** Waits for a frame. Returns undefined if the connection ends without it. */
  async frame(matches: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(matches);
      if (found || this.socket.destroyed) return found;
      const more = new Promise<void>((resolve) => this.socket.once('data', () => resolve()));
      await Promise.race([more, this.closed]);
    }
  }

  /** Waits for the end of the connection. Returns the error code of the server's GOAWAY frame, if it sent one. */
  async end(): Promise<number | undefined> {
    await this.closed;
    return this.frames.findLast(({ type }) => type === FRAME.goaway)?.payload.readUInt32BE(4);
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 9) {
      const length = this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < 9 + length) return;
      this.frames.push({
        type: this.#rest[3]!,
        flags: this.#rest[4]!,
        stream: this.#rest.readUInt32BE(5),
        payload: this.#rest.subarray(9, 9 + length),
      });
      this.#rest = this.#rest.subarray(9 + length);
    }
  }
}
