/** The browser-safe half: joins a session over its WebSocket. */
export { joinLive, type JoinOptions } from './join.ts';
export { LIVE_ROLES } from './session.ts';
export type * from './session.ts';
