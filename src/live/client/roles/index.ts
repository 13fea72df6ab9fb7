/** The constants without the rest of the client: live/client/index.ts loads the client and the schemas. */
export { LIVE_ROLES, MAX_LISTED_CLIENTS } from '../session.ts';
