/** Where the agent framework and A2A meet: `parley-a2a/bridge`. */
export {
  toA2AAgent,
  type A2AAgentOptions,
  fromA2AMessage,
  fromA2AParts,
  toA2AMessage,
  toA2AParts,
  type ConverterOptions,
  type ReceivedPart,
  remoteAgent,
  type RemoteAgentOptions,
  type RemoteConnectionOptions,
  type RemoteRequest,
  type RemoteErrorCode,
  type RemoteLimits,
} from './bridge/index.ts';
