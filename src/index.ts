/**
 * All exports of `parley-a2a/server`, `parley-a2a/client` and `parley-a2a/protocol`.
 *
 *   import { connect, createAgent, serve } from 'parley-a2a';
 */
export * from './client.ts';
export * from './protocol.ts';
export * from './server.ts';
