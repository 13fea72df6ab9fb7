/** Everything that is needed to put an agent behind A2A: `parley-a2a/server`. */
export * from '../server/index.ts';
export { bearerTokens } from './admission.ts';
export type { Authenticate } from './admission.ts';
export { addressGuard } from './addresses.ts';
export type { FetchContext, FetchHandler } from './fetch.ts';
export type { NodeHandler } from './node.ts';
export type { MountedAgent, MountOptions } from './mounts.ts';
export type {
  JsonRoute,
  OwnMethod,
  OwnRoute,
  RouteReply,
  RouteRequest,
  RouteStream,
  RouteText,
  StreamRoute,
} from './own-routes.ts';
export type { PeerSocket, SocketListener, SocketRequest, SocketRoute } from './socket-route.ts';
export { isLoopback } from './loopback.ts';
export { serve } from './serve.ts';
export type { AgentServer, Listening, ServeLimits, ServeOptions } from './serve.ts';
export { webhookDelivery } from './webhook.ts';
export type { WebhookOptions } from './webhook.ts';
