export * from './public/index.ts';
export { Addresses } from './adapters/addresses.ts';
export { selectAgent, tenantOf } from './mounts.ts';
export {
  bearerOf,
  createAdmission,
  isLoopbackAddress,
  proxyHeader,
  sameSecret,
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
export type { GrpcContext } from './adapters/grpc.ts';
export { invoke, invokeStream } from './invoke.ts';
export { ifMatch, ifNoneMatch } from './etag.ts';
export { createFetchHandler } from './adapters/fetch.ts';
export { type Beating, Heartbeat } from './adapters/heartbeat.ts';
export { Pace, type Paced } from './adapters/pace.ts';
export { createNodeHandler, nodeRequest } from './adapters/node.ts';
export { NO_STORE, ownMethods, routeTable } from './own-routes.ts';
export { lastEventId, peerError, TransportCall } from './respond.ts';
export { activeExtensions, extensionHeader, requestedVersion } from './negotiate.ts';
export type { AppContext } from './context.ts';
export { CLOSE, plainRoute } from './socket-route.ts';
export { clientOf, PendingBytes, UNCOUNTED_BYTES } from './pending-bytes.ts';
export { SignedHosts } from './signed-hosts.ts';
export { StreamCounter } from './stream-limits.ts';
