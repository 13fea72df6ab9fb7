/**
 * A client of the live session over WebSocket, in A2A's JSON-RPC: one message per text frame.
 *
 * To the client: `session/snapshot` first, unless it resumes (`?after=SEQ`), then each event of the session once, as
 * `tasks/event`; with `?presence=1` also `session/presence`, when somebody comes or goes or the queue changes. From the
 * client: the methods of ws-methods.ts, with one response each.
 *
 * The client's place is in the log, not in a queue: where it reads slowly, no more events are taken out until it has
 * read. One that reads nothing for a while, or asks for more than it reads, is closed with 4008; one that reads slowly
 * is not.
 */
import { inspectJson } from '../protocol/index.ts';
import type { Logger, RequestHandler } from '../tasks/index.ts';
import {
  CLOSE,
  parseObject,
  peerError,
  readEnvelope,
  type PeerSocket,
  type SocketListener,
} from '../http/index.ts';
import type { Follower, LiveSink, Resume } from './follower.ts';
import type { Live } from './hub.ts';
import type { Member } from './member.ts';
import { type LiveFrames, snapshotFrame, WIRE } from './ws-frames.ts';
import { callMethod } from './ws-methods.ts';

/** From so many bytes on that have not left, no events are taken out of the log. */
const HIGH_WATER = 256 * 1024;
/** Bytes of answers that were asked for and are not read. */
const MAX_UNREAD = 8 * 1024 * 1024;
/** Requests of a client under way, and their length; until some are answered no more are read. */
const MAX_UNDER_WAY = 32;
const MAX_UNDER_WAY_CHARS = 16 * 1024 * 1024;

export interface A2aSocketOptions {
  readonly live: Live;
  readonly handler: RequestHandler;
  readonly member: Member;
  readonly frames: LiveFrames;
  readonly resume: Resume | undefined;
  readonly presence: boolean;
  /** A client that has read nothing for so long is closed. */
  readonly stallMs: number;
  readonly logger: Logger;
}

export class A2aSocket implements SocketListener, LiveSink {
  readonly #socket: PeerSocket;
  readonly #options: A2aSocketOptions;
  readonly #follower: Follower;
  /** The snapshot has been sent, or there is none. */
  readonly #begun = Promise.withResolvers<void>();
  #underWay = 0;
  #underWayChars = 0;
  /** Of answers, since all that was sent had left. */
  #unread = 0;
  /** What there was no room for. */
  #latest: Parameters<LiveSink['presence']>[0] | undefined;

  constructor(socket: PeerSocket, options: A2aSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#follower = options.member.follow(this, options.resume);
  }

  snapshot(snapshot: Parameters<LiveSink['snapshot']>[0]): boolean {
    this.#socket.send(snapshotFrame(snapshot, this.#options.member.self));
    return this.#hasRoom();
  }

  event(...[taskId, entry]: Parameters<LiveSink['event']>): boolean {
    this.#socket.send(this.#options.frames.event(taskId, entry));
    return this.#hasRoom();
  }

  presence(presence: Parameters<LiveSink['presence']>[0]): void {
    this.#begun.resolve();
    if (!this.#options.presence) return;
    this.#latest = this.#hasRoom() ? undefined : presence;
    if (!this.#latest) this.#socket.send(this.#options.frames.presence(presence));
  }

  end(): void {
    this.#socket.close(CLOSE.goingAway, 'the session is over');
  }

  message(text: string): void {
    this.#count(1, text.length);
    void this.#answer(text).finally(() => this.#count(-1, -text.length));
  }

  drain(): void {
    if (this.#latest) this.presence(this.#latest);
    this.#follower.resume();
  }

  close(): void {
    this.#begun.resolve();
    void this.#options.member.close();
  }

  #count(requests: number, chars: number): void {
    this.#underWay += requests;
    this.#underWayChars += chars;
    const enough = this.#underWay >= MAX_UNDER_WAY || this.#underWayChars >= MAX_UNDER_WAY_CHARS;
    if (enough) this.#socket.pause();
    else this.#socket.resume();
  }

  #hasRoom(): boolean {
    if (this.#socket.buffered < HIGH_WATER) return true;
    this.#socket.watch(this.#options.stallMs, () => this.#tooSlow());
    return false;
  }

  #reply(frame: string): void {
    if (this.#socket.buffered === 0) this.#unread = 0;
    if (this.#unread > MAX_UNREAD) return this.#tooSlow();
    this.#unread += frame.length;
    this.#socket.send(frame);
    this.#hasRoom();
  }

  #tooSlow(): void {
    if (!this.#socket.open) return;
    const { cursor } = this.#follower;
    const { name } = this.#options.member.self;
    this.#options.logger.warn({ client: name, resumeAfter: cursor }, 'a client reads too slowly');
    this.#socket.close(CLOSE.tooSlow, `resume after ${cursor}`);
  }

  async #answer(text: string): Promise<void> {
    let id: string | number | null = null;
    let answer: object;
    try {
      const raw = parseObject(text);
      inspectJson(raw);
      // Ignore responses: the server sends no requests.
      if (!('method' in raw) && ('result' in raw || 'error' in raw)) return;
      const { method, params } = readEnvelope(raw, (found) => (id = found));
      answer = { result: await callMethod(method, params, this.#options) };
    } catch (error) {
      answer = { error: WIRE.encodeError(peerError(this.#options, error)) };
    }
    // The snapshot is always sent before the first response.
    await this.#begun.promise;
    this.#reply(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }
}
