/**
 * Exports the constants of a live session and the function `withView`, for modules that do not need the client. An
 * import of live/client/index.ts would also load the client and the schemas.
 */
export { LIVE_ROLES, LIVE_TOKEN, MAX_LISTED_CLIENTS, withView } from '../session.ts';
