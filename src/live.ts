/** The client of a live session, for browsers too: `parley-a2a/client/live`. */
export {
  joinLive,
  type JoinOptions,
  type LiveRole,
  type LiveClient,
  type LiveSnapshot,
  type QueuedPrompt,
  type TakenPrompt,
  type LiveItem,
  type LiveSession,
} from './live/client/index.ts';
