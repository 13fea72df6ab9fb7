/** The roles without the rest of the client: live/client/index.ts loads the client and the schemas. */
export { LIVE_ROLES } from '../session.ts';
