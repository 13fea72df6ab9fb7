/** Connects the agent framework to A2A, in both directions. */
export { toA2AAgent, type A2AAgentOptions } from './a2a-agent.ts';
export {
  fromA2AMessage,
  fromA2AParts,
  toA2AMessage,
  toA2AParts,
  type ConverterOptions,
  type ReceivedPart,
} from './converter.ts';
export { remoteAgent, type RemoteAgentOptions, type RemoteAgentProfile } from './remote/agent.ts';
export type { RemoteConnectionOptions, RemoteHeaders, RemoteRequest } from './remote/connection.ts';
export { openTurn, present, runTurn, userOf, type TurnPresenter } from './turn.ts';
export { answerViews, repeatedAnswer } from './views.ts';
export { yesOrNo } from './yes-no.ts';
export type { RemoteErrorCode, RemoteLimits } from '../client/index.ts';
