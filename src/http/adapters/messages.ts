/**
 * The parts of a request and a response that the adapter for Node uses. Both node:http and node:http2 provide them.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

export interface HttpRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersionMajor: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly socket: Socket;
  /**
   * Whether the whole body was received. Over HTTP/2, true only after the body has also been read, or after the stream
   * has ended.
   */
  readonly complete: boolean;
  readonly readableEnded: boolean;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
  resume(): unknown;
  destroy(): unknown;
}

export interface HttpResponse {
  readonly req: { readonly httpVersion: string };
  readonly socket: Socket | null;
  /** Set to false if the response's writer frames the chunks of HTTP/1.1 itself. */
  chunkedEncoding?: boolean;
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
  on(event: 'drain' | 'close', listener: (this: HttpResponse) => void): unknown;
  once(event: 'close', listener: () => void): unknown;
  writeHead(status: number, headers: string[]): unknown;
  flushHeaders(): void;
  write(chunk: string, encoding: BufferEncoding): boolean;
  end(): unknown;
  end(chunk: string | Uint8Array, encoding: BufferEncoding): unknown;
  destroy(): unknown;
  setTimeout(ms: number, listener: () => void): unknown;
}

/** A handler of requests over HTTP/1.1 and HTTP/2. */
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void;
