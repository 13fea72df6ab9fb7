/** The data of a call that connect passes from the adapter to the methods. */
import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { TransportRequest } from '../http/index.ts';
import type { StreamItem, User } from '../protocol/index.ts';
import type { TaskStream } from '../tasks/index.ts';

/** A call. The adapter creates it as soon as the headers of the request have arrived. */
export interface GrpcCall {
  readonly request: TransportRequest;
  /** Sends the events of a stream. Resolves when all events have been sent, or when the client has disconnected. */
  readonly send: (
    stream: TaskStream,
    frame: (item: StreamItem) => Uint8Array,
    headers: Headers,
  ) => Promise<void>;
  /** Reports the answer for the metrics, with the HTTP status that corresponds to it. Only the first report counts. */
  readonly observed: (status: number) => void;
  /** Called at the deadline of the call. Answers the client if the request has not arrived completely. */
  readonly expired: () => void;
  /** The authenticated user. Set before the request's message is read. */
  user: User | undefined;
}

export const CALL: ContextKey<GrpcCall | undefined> = createContextKey<GrpcCall | undefined>(
  undefined,
);

export function grpcCallOf({ values }: Pick<HandlerContext, 'values'>): GrpcCall {
  const call = values.get(CALL);
  if (!call) throw new Error('the gRPC handler was called without its adapter');
  return call;
}
