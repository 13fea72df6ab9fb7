/** The client: finds agents, sends messages to them, and follows their tasks even if connections break. */
export * from './public/index.ts';

export { loadGrpc } from './connect.ts';
export { createTextTracker, endsWithQuestion, spokenSections } from './text.ts';

export { createBinding } from './connection/binding.ts';
export {
  chooseAmong,
  hasOriginOf,
  interfaceUrl,
  isGrpc,
  restrictToOrigins,
} from './connection/discover.ts';
export { askRest } from './connection/http.ts';
export {
  quote,
  RemoteAgentError,
  remoteErrorCode,
  type RemoteErrorCode,
} from './connection/errors.ts';
export {
  ByteBudget,
  errorOfStatus,
  Lifetime,
  mediaType,
  type ResponseHead,
} from './connection/request.ts';
export {
  createHttpService,
  type EventDecoding,
  type Transport,
  type OutgoingRequest,
  type WholeResponse,
} from './connection/service.ts';
export { seqOf } from './connection/sse.ts';
export { checkTrust } from './connection/verify-card.ts';

export { TaskFollower, type FollowedService } from './follow/follower.ts';
export type { Items } from './follow/last-event.ts';
export { RemoteTaskGuard } from './follow/guard.ts';
export * from './follow/limits.ts';
export { DEFAULT_ATTEMPTS, retryDelay, retrying } from './follow/retry.ts';
