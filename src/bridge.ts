/** Where the agent framework and A2A meet: `parley-a2a/bridge`. */
export {
  a2aExecutor,
  type A2AExecutorOptions,
  fromA2AMessage,
  fromA2AParts,
  MARKS,
  toA2AMessage,
  toA2AParts,
  type ConverterOptions,
  type ReceivedPart,
  remoteAgent,
  type RemoteAgentOptions,
  type RemoteConnectionOptions,
  type RemoteRequest,
  REMOTE_LIMITS,
  type RemoteErrorCode,
  type RemoteLimits,
} from './bridge/index.ts';
