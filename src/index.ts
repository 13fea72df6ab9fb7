/** The whole library: write an agent, serve it, talk to others. The parts are at `parley-a2a/server` and so on. */
export * from './client.ts';
export * from './protocol.ts';
export * from './server.ts';
