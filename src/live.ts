/**
 * The client of a live session. It also runs in browsers.
 *
 *   const session = await joinLive('http://localhost:1234');
 */
export {
  exchangeTicket,
  joinLive,
  ticketIn,
  type IssuedToken,
  type JoinOptions,
  type LiveRole,
  type LiveClient,
  type LiveSnapshot,
  type QueuedPrompt,
  type TakenPrompt,
  type LiveItem,
  type LiveSession,
} from './live/client/index.ts';
