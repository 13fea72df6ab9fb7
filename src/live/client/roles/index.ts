/**
 * The constants for modules that do not need the client. live/client/index.ts would also load the client and the
 * schemas.
 */
export { LIVE_ROLES, MAX_LISTED_CLIENTS } from '../session.ts';
