/** The client: finds agents, talks to them, and follows their work through broken connections. */
export type {
  AgentClient,
  Answer,
  CallOptions,
  ClientOptions,
  Input,
  ResubscribeOptions,
  SendOptions,
  StreamOptions,
} from './client.ts';
export { createClient } from './client.ts';
export { connect, type ConnectOptions, type RemoteAgentClient } from './connect.ts';
export type { Endpoint } from './dialect.ts';
export {
  choose,
  discover,
  type ChosenEndpoint,
  type FoundCard,
  type Preference,
} from './discover.ts';
export { ConnectionError, StreamInterruptedError, type ConnectionFailure } from './errors.ts';
export { httpService, type HttpOptions } from './http.ts';
export { local } from './local.ts';
export type { HeaderSource } from './request.ts';
export type { RetryOptions } from './resume.ts';
export { SseLimitError, createSseParser, type SseEvent, type SseParser } from './sse.ts';
export { AgentStream } from './stream.ts';
export { answerText } from './text.ts';
export { readNotification, type NotificationOptions } from './webhook.ts';
export { createDialect, type Ask, type Dialect } from './dialect.ts';
export {
  errorOfStatus,
  mediaType,
  parseJson,
  withRetryAfter,
  type ResponseHead,
} from './request.ts';
export { resumable } from './resume.ts';
export { createTextTracker } from './text.ts';
