/**
 * gRPC: the third binding of the protocol. It needs the packages @connectrpc/connect and @bufbuild/protobuf, which are
 * loaded together with this module.
 *
 *   import { grpcBinding } from 'parley-a2a/grpc';
 *   serve(agent, { grpc: grpcBinding() });
 */
export { grpcBinding } from './grpc/index.ts';
export type { GrpcBinding } from './http/index.ts';
