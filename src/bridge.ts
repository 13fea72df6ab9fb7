/**
 * Connects the agent framework to A2A, in both directions.
 *
 *   await serve(toA2AAgent(llmAgent({ name: 'weather', model: 'offline' }))).listen(4000);
 *   const weather = remoteAgent({ name: 'weather', url: 'http://localhost:4000' });
 */
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
  type RemoteAgentProfile,
  type RemoteConnectionOptions,
  type RemoteHeaders,
  type RemoteRequest,
  type RemoteErrorCode,
  type RemoteLimits,
} from './bridge/index.ts';
