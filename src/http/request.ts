/** Requests and replies, independent of the HTTP adapter. */
import type { A2AError } from '../protocol/index.ts';
import type { Opening, Published, TaskStream } from '../tasks/index.ts';

/** An HTTP request, independent of the server that received it. */
export interface TransportRequest {
  readonly method: string;
  /** The path and the query, without the adapter's mount point. */
  readonly url: string;
  header(name: string): string | undefined;
  /**
   * The name of a header that occurs more than once although this is not allowed. Undefined if there is none, or if the
   * adapter cannot detect it.
   */
  readonly repeated?: string | undefined;
  /** The server's address for clients, including the mount point, for example `http://127.0.0.1:4000`. */
  readonly base: string;
  /** The client's address, for limits. */
  readonly remote: string;
  /**
   * Whether the request came over loopback, or may have come over loopback. Any web page could have sent such a
   * request. So its Host must be a loopback name or the host of the public URL.
   */
  readonly local: boolean;
  /**
   * The path of the mounted agent, for example `/agents/weather`, if several agents share the server. Not part of
   * `url`.
   */
  readonly mount?: string | undefined;
  /** The connection, if the adapter can close it. */
  readonly connection?: RequestConnection | undefined;
  /** Aborted when the client disconnects. Created on demand. */
  readonly signal: AbortSignal;
}

/** The connection of a request. */
export interface RequestConnection {
  /** Closes the connection, also in the middle of a response. Over HTTP/2, closes only the request's stream. */
  drop(): void;
  /** Calls the listener when the response is complete or the connection is closed. */
  onClose(listener: () => void): void;
}

export interface FullReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or bytes that are sent unchanged. */
  readonly body: string | Uint8Array;
  /**
   * The adapter must call this function when the client has read the reply. An adapter that cannot detect this calls
   * the function at once.
   */
  readonly release?: () => void;
}

/** A reply with server-sent events. */
export interface StreamReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: TaskStream;
  frame(item: Published | Opening): string;
  /** Formats an error after which the stream ends. */
  failure?(error: A2AError): string;
  /** The name under which unread bytes are counted. */
  readonly client: string;
  /**
   * Whether any header of the request may be read while the stream is open. If false, only the headers that a `Call`
   * reads are kept.
   */
  readonly readsHeaders?: boolean;
  /** Must be called once, when the reply is complete. */
  release(): void;
}

/** A reply of text in chunks. */
export interface TextReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterator<string>;
  /** Must be called once, when the reply is complete. */
  readonly release: () => void;
}

export type Reply = FullReply | StreamReply | TextReply;
