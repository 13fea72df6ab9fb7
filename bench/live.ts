/**
 * Compares a live session with many readers to the bare `ws` library, which sends the same frames to as many readers.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { compare, type Row } from './measure.ts';
import type { Subject } from './subject.ts';
import { bareWs, liveSession, stop } from './subjects.ts';

const READERS = 1000;
const ROUNDS = 7;
/** A text that occurs only in the last frame of a turn. */
const LAST = '"state":"completed"';

/** The readers of one server. The first reader keeps the frames that it receives. */
class Crowd {
  readonly frames: string[] = [];
  readonly #sockets: WebSocket[] = [];
  #left = 0;
  #ended: (() => void) | undefined;

  static async open(subject: Subject): Promise<Crowd> {
    const crowd = new Crowd();
    const url = `ws://127.0.0.1:${subject.port}/ws`;
    while (crowd.#sockets.length < READERS) {
      const batch = Array.from({ length: 50 }, () => crowd.#add(url));
      await Promise.all(batch);
    }
    return crowd;
  }

  async #add(url: string): Promise<void> {
    const socket = new WebSocket(url, { perMessageDeflate: false, skipUTF8Validation: true });
    const keeps = this.#sockets.push(socket) === 1;
    socket.on('message', (data: Buffer) => {
      if (keeps) this.frames.push(data.toString());
      if (data.includes(LAST) && --this.#left === 0) this.#ended?.();
    });
    await once(socket, 'open');
  }

  /** Triggers a broadcast, waits until every reader has received all of it, and returns its events. */
  async broadcast(what: string): Promise<readonly string[]> {
    this.frames.length = 0;
    this.#left = READERS;
    const ended = new Promise<void>((resolve) => (this.#ended = resolve));
    this.#sockets[0]!.send(what);
    await ended;
    return this.frames.filter((frame) => frame.includes('tasks/event'));
  }

  close(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}

let sent = 0;
function prompt(): string {
  const parts = [{ kind: 'text', text: 'begin' }];
  const message = { kind: 'message', messageId: `bench-${++sent}`, role: 'user', parts };
  return JSON.stringify({ jsonrpc: '2.0', id: sent, method: 'message/send', params: { message } });
}

export async function live(): Promise<Row[]> {
  const [bare, ours] = [await bareWs(), await liveSession()];
  const [theirs, joined] = [await Crowd.open(bare), await Crowd.open(ours)];
  const recorded = JSON.stringify(await joined.broadcast(prompt()));
  const costs = await compare(ROUNDS, [
    { subject: bare, run: async () => (await theirs.broadcast(recorded)).length * READERS },
    { subject: ours, run: async () => (await joined.broadcast(prompt())).length * READERS },
  ]);
  theirs.close();
  joined.close();
  await stop(bare, ours);
  const values = { ws: costs.get('ws')!.cpuUs, parley: costs.get('parley')!.cpuUs };
  const reached = values.parley / values.ws;
  return [
    {
      scenario: `live session, ${READERS.toLocaleString('en')} readers over WebSocket`,
      unit: 'µs/event and reader',
      values,
      goal: { text: '≤ 1.3 × ws', reached, most: 1.3 },
    },
  ];
}
