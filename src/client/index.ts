/** The client: finds agents, sends messages to them, and follows their tasks even if connections break. */
export type {
  AgentClient,
  PendingResult,
  CallOptions,
  ClientOptions,
  FollowingOptions,
  Input,
  ResubscribeOptions,
  SendOptions,
  StreamOptions,
} from './client.ts';
export { createClient } from './client.ts';
export { connect, loadGrpc, type ConnectOptions, type RemoteAgentClient } from './connect.ts';
export { local } from './local.ts';
export { AgentStream } from './stream.ts';
export { answerText, createTextTracker, spokenSections } from './text.ts';
export { readNotification, type NotificationOptions } from './webhook.ts';
export {
  webhookReceiver,
  type NodeWebhookRequest,
  type NodeWebhookResponse,
  type Notification,
  type WebhookReceiver,
  type WebhookReceiverOptions,
} from './webhook-receiver.ts';
export type { WebhookTrust } from './webhook-signature.ts';

export { createBinding, type Endpoint } from './connection/binding.ts';
export {
  choose,
  chooseAmong,
  discover,
  hasOriginOf,
  interfaceUrl,
  isGrpc,
  restrictToOrigins,
  type ChosenEndpoint,
  type DiscoverOptions,
  type FoundCard,
  type Preference,
} from './connection/discover.ts';
export {
  CardSignatureError,
  ConnectionError,
  quote,
  RemoteAgentError,
  remoteErrorCode,
  StreamInterruptedError,
  TaskFailedError,
  type CardSignatureProblem,
  type ConnectionFailure,
  type RemoteErrorCode,
} from './connection/errors.ts';
export { httpService, type HttpOptions } from './connection/http.ts';
export type { PublicJwk } from './connection/jws.ts';
export { verifyCard, type CardTrust, type VerifiedCard } from './connection/verify-card.ts';
export {
  ByteBudget,
  errorOfStatus,
  Lifetime,
  mediaType,
  type HeaderSource,
  type ResponseHead,
} from './connection/request.ts';
export {
  createHttpService,
  type EventDecoding,
  type Transport,
  type OutgoingRequest,
  type WholeResponse,
} from './connection/service.ts';
export {
  createSseParser,
  seqOf,
  SseLimitError,
  type SseEvent,
  type SseParser,
} from './connection/sse.ts';

export { TaskFollower, type FollowedService, type Items } from './follow/follower.ts';
export { RemoteTaskGuard } from './follow/guard.ts';
export {
  limitSilence,
  limitTime,
  REMOTE_LIMITS,
  remoteLimits,
  type RemoteLimits,
} from './follow/limits.ts';
export { retrying, type RetryOptions } from './follow/retry.ts';
