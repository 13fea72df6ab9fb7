/** The `protocolBinding` of a live session's WebSocket in an agent card. Bindings other than A2A's own are URIs. */
export const LIVE_BINDING = 'https://www.npmjs.com/package/parley-a2a#live-session';
