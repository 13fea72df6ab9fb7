/** Requests and replies, independent of the HTTP adapter. */
import type { Opening, Published, TaskStream } from '../tasks/index.ts';

/** An HTTP request, independent of the server that received it. */
export interface TransportRequest {
  readonly method: string;
  /** Path and query, without the adapter's mount point. */
  readonly url: string;
  header(name: string): string | undefined;
  /** The address at which the client reaches the server, with the mount point: `http://127.0.0.1:4000`. */
  readonly base: string;
  /** The client's address, for limits. */
  readonly remote: string;
  /** The request came over loopback. A web page could have sent it, so Host and Origin are checked. */
  readonly local: boolean;
  /** The path of the mounted agent, if several agents share the server: `/agents/weather`. Not part of `url`. */
  readonly mount?: string | undefined;
  /** Aborted when the client disconnects. Created on demand. */
  readonly signal: AbortSignal;
}

export interface FullReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply of server-sent events. */
export interface StreamReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: TaskStream;
  frame(item: Published | Opening): string;
  /** Must be called once, when the reply is complete. */
  readonly release: () => void;
}

/** A reply of text in chunks. */
export interface TextReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterator<string>;
  /** Must be called once, when the reply is complete. */
  readonly release: () => void;
}

export type Reply = FullReply | StreamReply | TextReply;
