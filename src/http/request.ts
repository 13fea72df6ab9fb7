/** A request and a reply, as every HTTP adapter hands them over. */
import type { Opening, Published, TaskStream } from '../tasks/index.ts';

/** An HTTP request, independent of the server that received it. */
export interface TransportRequest {
  readonly method: string;
  /** Path and query, without the adapter's mount point. */
  readonly url: string;
  header(name: string): string | undefined;
  /** Where the server is reached, with the mount point and without a slash at the end: `http://127.0.0.1:4000`. */
  readonly base: string;
  /** The client's address, for limits. */
  readonly remote: string;
  /** It came in over loopback, so a web page could have sent it: Host and Origin count. */
  readonly local: boolean;
  /** Where the agent is that it is for, if several share the server: `/agents/weather`. Not part of `url`. */
  readonly mount?: string | undefined;
  /** Aborted when the client leaves. Made when it is first asked for. */
  readonly signal: AbortSignal;
}

export interface FullReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply that goes on: server-sent events. */
export interface StreamReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: TaskStream;
  frame(item: Published | Opening): string;
  /** To be called once, when the reply is over. */
  readonly release: () => void;
}

/** A reply whose text comes bit by bit. */
export interface TextReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterator<string>;
  /** To be called once, when the reply is over. */
  readonly release: () => void;
}

export type Reply = FullReply | StreamReply | TextReply;
