export { bearerTokens } from './admission.ts';
export type { Authenticate } from './admission.ts';
export type { FetchContext, FetchHandler } from './adapters/fetch.ts';
export { Addresses } from './adapters/addresses.ts';
export type { TlsPair } from './adapters/listener.ts';
export type { NodeHandler } from './adapters/node.ts';
export { selectAgent, tenantOf, type MountedAgent, type MountOptions } from './mounts.ts';
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
} from './own-routes.ts';
export type { PeerSocket, SocketListener, SocketRequest, SocketRoute } from './socket-route.ts';
export { webhookDelivery } from './webhook.ts';
export type { DeliverWebhook, WebhookOptions, WebhookRequest } from './webhook.ts';
export {
  bearerOf,
  createAdmission,
  isLoopbackAddress,
  proxyHeader,
  type Admission,
} from './admission.ts';
export { createApp, type App } from './app.ts';
export { grpcPlace, makeCard, signCard } from './card.ts';
export { JWKS_PATH } from './jwks.ts';
export {
  aliveReply,
  createHealth,
  healthRoutes,
  readyReply,
  storeCheck,
  type ServerHealth,
} from './health.ts';
export type { GrpcBinding, GrpcContext, GrpcHandler } from './adapters/grpc.ts';
export { invoke, invokeStream } from './invoke.ts';
export { ifMatch, ifNoneMatch } from './etag.ts';
export { createFetchHandler } from './adapters/fetch.ts';
export { type Beating, Heartbeat } from './adapters/heartbeat.ts';
export { Pace, type Paced } from './adapters/pace.ts';
export { createNodeHandler, nodeRequest } from './adapters/node.ts';
export { ownMethods, routeTable } from './own-routes.ts';
export type { RequestConnection, TransportRequest } from './request.ts';
export { lastEventId, peerError, TransportCall } from './respond.ts';
export { activeExtensions, extensionHeader, requestedVersion } from './negotiate.ts';
export type { AppContext } from './context.ts';
export { CLOSE, plainRoute } from './socket-route.ts';
export { clientOf, PendingBytes, UNCOUNTED_BYTES } from './pending-bytes.ts';
export { StreamCounter } from './stream-limits.ts';
