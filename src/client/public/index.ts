/** The part of the client that the package exports. */
export * from '../client.ts';
export { connect, type ConnectOptions, type RemoteAgentClient } from '../connect.ts';
export * from '../local.ts';
export { AgentStream } from '../stream.ts';
export { answerText } from '../text.ts';
export { readNotification, type NotificationOptions } from '../webhook.ts';
export * from '../webhook-receiver.ts';
export type { WebhookTrust } from '../webhook-signature.ts';

export type { Endpoint } from '../connection/binding.ts';
export {
  choose,
  discover,
  type ChosenEndpoint,
  type DiscoverOptions,
  type FoundCard,
  type Preference,
} from '../connection/discover.ts';
export {
  CardSignatureError,
  ConnectionError,
  StreamInterruptedError,
  TaskFailedError,
  type CardSignatureProblem,
  type ConnectionFailure,
} from '../connection/errors.ts';
export { httpService, type HttpOptions } from '../connection/http.ts';
export type { PublicJwk } from '../connection/jws.ts';
export type { ByteBudget, HeaderSource } from '../connection/request.ts';
export {
  createSseParser,
  SseLimitError,
  type SseEvent,
  type SseParser,
} from '../connection/sse.ts';
export { verifyCard, type CardTrust, type VerifiedCard } from '../connection/verify-card.ts';

export type { RetryOptions } from '../follow/retry.ts';
