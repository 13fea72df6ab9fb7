/**
 * Exports the constants and the helper for roles and tokens, for modules that do not need the client. An import of
 * live/client/index.ts would also load the client and the schemas.
 */
export { LIVE_ROLES, LIVE_TOKEN, MAX_LISTED_CLIENTS, withView } from '../session.ts';
