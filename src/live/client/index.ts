/** The client of a live session: finds the session, gets a token and joins over WebSocket. Also runs in browsers. */
export type * from './editor/index.ts';
export { LiveFeed } from './feed.ts';
export { findLive } from './find.ts';
export { joinLive, type JoinOptions } from './join.ts';
export type * from './notices.ts';
export { exchangeTicket, ticketIn, type IssuedToken } from './ticket.ts';
export type * from './session.ts';
