/** The data of a call that connect passes from the adapter to the methods. */
import { type ContextKey, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { User } from '../protocol/index.ts';
import type { GrpcRequest } from './request.ts';

/** A call, from its first header on. */
export interface GrpcCall {
  readonly request: GrpcRequest;
  /** Sends the response headers soon, even if there is no message yet. */
  readonly open: (headers: Readonly<Record<string, string>> | undefined) => void;
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
