/**
 * The interface between `serve()` and a gRPC binding. The binding itself is in `parley-a2a/grpc`, because it needs
 * other packages.
 */
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { AppContext } from '../context.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { ServerHealth } from '../health.ts';
import type { TransportRequest } from '../request.ts';

/** The parts of the server that a gRPC binding uses. */
export interface GrpcContext {
  readonly app: AppContext;
  readonly publicUrl: string | undefined;
  readonly maxBodyBytes: number;
  /** Disconnects clients that stop reading. */
  readonly heartbeat: Heartbeat;
  readonly health: ServerHealth;
  /**
   * Returns a promise that resolves when the server accepts requests. Returns undefined if the server already accepts
   * them.
   */
  readonly ready: () => Promise<void> | undefined;
  /**
   * Called for every answer, with the HTTP status that corresponds to its gRPC status. For a stream, it is called when
   * the stream opens.
   */
  readonly observe?:
    | ((request: TransportRequest, status: number, seconds: number) => void)
    | undefined;
}

/** Answers a gRPC request: an HTTP/2 request whose content type starts with `application/grpc`. */
export type GrpcHandler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** A gRPC binding, for the option `grpc` of `serve()`. `grpcBinding()` of `parley-a2a/grpc` returns one. */
export interface GrpcBinding {
  /**
   * Makes the handler of a server.
   * @internal
   */
  readonly handlerFor: (context: GrpcContext) => GrpcHandler;
}
