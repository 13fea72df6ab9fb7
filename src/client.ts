/**
 * The client: finds agents, sends messages to them, and resumes their streams after a lost connection.
 *
 *   const agent = await connect('http://localhost:4000');
 *   for await (const text of agent.stream('Hello').textChunks()) process.stdout.write(text);
 */
export * from './protocol.ts';
export {
  type AgentClient,
  type PendingResult,
  type CallOptions,
  type ByteBudget,
  type ClientOptions,
  type FollowingOptions,
  type Input,
  type ResubscribeOptions,
  type SendOptions,
  type StreamOptions,
  createClient,
  connect,
  type ConnectOptions,
  type RemoteAgentClient,
  type Endpoint,
  choose,
  discover,
  type ChosenEndpoint,
  type FoundCard,
  type Preference,
  ConnectionError,
  StreamInterruptedError,
  TaskFailedError,
  type ConnectionFailure,
  httpService,
  type HttpOptions,
  local,
  type HeaderSource,
  type RetryOptions,
  SseLimitError,
  createSseParser,
  type SseEvent,
  type SseParser,
  AgentStream,
  answerText,
  readNotification,
  type NotificationOptions,
} from './client/index.ts';
