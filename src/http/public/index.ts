/** The part of the HTTP server that the package exports. */
export type { FetchContext, FetchHandler } from '../adapters/fetch.ts';
export type { GrpcBinding, GrpcHandler } from '../adapters/grpc.ts';
export type { TlsPair } from '../adapters/listener.ts';
export type { NodeHandler } from '../adapters/node.ts';
export { bearerTokens, type Authenticate } from '../admission.ts';
export type { MountedAgent, MountOptions } from '../mounts.ts';
export type {
  FailedRequest,
  JsonRoute,
  OwnMethod,
  OwnRoute,
  RouteBase,
  RouteReply,
  RouteRequest,
  RouteStream,
  RouteText,
  StreamRoute,
} from '../own-routes.ts';
export type { RequestConnection, TransportRequest } from '../request.ts';
export type { PeerSocket, SocketListener, SocketRequest, SocketRoute } from '../socket-route.ts';
export * from '../webhook.ts';
