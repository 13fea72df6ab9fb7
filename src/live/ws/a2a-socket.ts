/**
 * A client of the live session over WebSocket. It uses A2A's JSON-RPC, with one message per text frame.
 *
 * The server sends `session/snapshot` first, and then each event once, as `tasks/event`. A client that resumes
 * (`?after=SEQ`) gets no snapshot. With `?presence=1`, the server also sends `session/presence` when the clients, the
 * queue or the commands change. The client calls the methods of methods.ts and gets one response to each call.
 *
 * Events are read from the log only as fast as the client reads them. A slow client stays connected. If a client reads
 * nothing for a while, or sends requests without reading the responses, its connection is closed with code 4008.
 */
import { isObject } from '../../base/index.ts';
import {
  inspectJson,
  jsonRpcFailure,
  jsonRpcIdOf,
  jsonRpcResult,
  parseJsonText,
  readJsonRpcRequest,
  type JsonRpcId,
} from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { CLOSE, peerError, type PeerSocket, type SocketListener } from '../../http/index.ts';
import type { SessionReader, LiveSink, Resume } from '../session-reader.ts';
import type { Live } from '../hub.ts';
import type { Member } from '../member.ts';
import { type LiveFrames, snapshotFrame, WIRE } from './frames.ts';
import { callMethod } from './methods.ts';

/** While at least this number of bytes is unsent, no further events are read from the log. */
const HIGH_WATER = 256 * 1024;
/** Maximum total length of the unread responses, in characters. */
const MAX_UNREAD = 8 * 1024 * 1024;
/** Maximum number and total length of the pending requests of a client. At either limit, the socket is paused. */
const MAX_PENDING = 32;
const MAX_PENDING_CHARS = 16 * 1024 * 1024;

export interface A2aSocketOptions {
  readonly live: Live;
  readonly member: Member;
  readonly frames: LiveFrames;
  readonly resume: Resume | undefined;
  readonly presence: boolean;
  /** Maximum number of messages in a snapshot. */
  readonly history?: number | undefined;
  /** If a client reads nothing for this long, its connection is closed. */
  readonly stallMs: number;
  readonly logger: Logger;
}

export class A2aSocket implements SocketListener, LiveSink {
  readonly #socket: PeerSocket;
  readonly #options: A2aSocketOptions;
  readonly #reader: SessionReader;
  /**
   * Resolved after the first snapshot was sent, after the client has resumed without a snapshot, or when the connection
   * is closed.
   */
  readonly #begun = Promise.withResolvers<void>();
  #pending = 0;
  #pendingChars = 0;
  /** Total length of the responses that were sent since the send buffer was last empty. */
  #unread = 0;
  /** The latest presence, if it could not be sent yet because the client reads slowly. */
  #latest: Parameters<LiveSink['presence']>[0] | undefined;

  constructor(socket: PeerSocket, options: A2aSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#reader = options.member.follow(this, options.resume);
  }

  snapshot(snapshot: Parameters<LiveSink['snapshot']>[0]): boolean {
    const { member, history } = this.#options;
    this.#socket.send(snapshotFrame(snapshot, member.self, history));
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
    this.#socket.close(CLOSE.goingAway, 'the session has ended');
  }

  message(text: string): void {
    this.#count(1, text.length);
    void this.#answer(text).finally(() => this.#count(-1, -text.length));
  }

  drain(): void {
    if (this.#latest) this.presence(this.#latest);
    this.#reader.resume();
  }

  close(): void {
    this.#begun.resolve();
    void this.#options.member.close();
  }

  #count(requests: number, chars: number): void {
    this.#pending += requests;
    this.#pendingChars += chars;
    const enough = this.#pending >= MAX_PENDING || this.#pendingChars >= MAX_PENDING_CHARS;
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
    const { cursor } = this.#reader;
    const { name } = this.#options.member.self;
    this.#options.logger.warn(
      { client: name, resumeAfter: cursor },
      'closed the connection of a client that reads too slowly',
    );
    this.#socket.close(CLOSE.tooSlow, `resume after ${cursor}`);
  }

  async #answer(text: string): Promise<void> {
    let id: JsonRpcId = null;
    let answer: object;
    try {
      const raw = parseJsonText(text);
      inspectJson(raw);
      // Ignore responses, because the server sends no requests.
      if (isObject(raw) && !('method' in raw) && ('result' in raw || 'error' in raw)) return;
      id = jsonRpcIdOf(raw);
      const { method, params } = readJsonRpcRequest(raw);
      answer = jsonRpcResult(id, await callMethod(method, params, this.#options));
    } catch (error) {
      answer = jsonRpcFailure(WIRE, id, peerError(this.#options, error));
    }
    // If the client gets a snapshot, the snapshot is sent before the first response.
    await this.#begun.promise;
    this.#reply(JSON.stringify(answer));
  }
}
