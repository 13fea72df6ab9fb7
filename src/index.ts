/** The whole library: write an agent, serve it, talk to others. The parts are at `parley-a2a/server` and so on. */
export * from './client/index.ts';
export * from './protocol/index.ts';
export * from './transport/index.ts';
