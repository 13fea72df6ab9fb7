/** A gRPC request, as the parts that all bindings share see it. */
import type { Http2ServerRequest } from 'node:http2';
import { isLoopbackAddress, type RequestConnection, type TransportRequest } from '../http/index.ts';

export class GrpcRequest implements TransportRequest {
  readonly #request: Http2ServerRequest;
  readonly #publicUrl: string | undefined;
  readonly method = 'POST';
  /** Aborted when the client cancels the call or disconnects, and at the deadline of the call. */
  signal: AbortSignal;

  constructor(request: Http2ServerRequest, publicUrl: string | undefined, signal: AbortSignal) {
    this.#request = request;
    this.#publicUrl = publicUrl;
    this.signal = signal;
  }

  get url(): string {
    return this.#request.url;
  }

  header(name: string): string | undefined {
    const { headers } = this.#request;
    // HTTP/2 has the pseudo-header :authority instead of Host.
    const value = name === 'host' ? (headers[':authority'] ?? headers.host) : headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  get repeated(): string | undefined {
    const { rawHeaders } = this.#request;
    let hosts = 0;
    let authorizations = 0;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at];
      if (name === ':authority' || name === 'host') hosts++;
      else if (name === 'authorization') authorizations++;
    }
    return hosts > 1 ? 'Host' : authorizations > 1 ? 'Authorization' : undefined;
  }

  get base(): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl;
    const scheme = 'encrypted' in this.#request.socket ? 'https' : 'http';
    return `${scheme}://${this.header('host') ?? 'localhost'}`;
  }

  get remote(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  get local(): boolean {
    return isLoopbackAddress(this.#request.socket.localAddress ?? '');
  }

  /** The connection of this call. Other calls on the same HTTP/2 connection stay open. */
  get connection(): RequestConnection {
    const { stream } = this.#request;
    return { drop: () => stream.destroy(), onClose: (listener) => stream.once('close', listener) };
  }
}
