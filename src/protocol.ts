/**
 * The A2A protocol: its types with their zod schemas, its errors, and the codecs of both versions.
 *
 *   import { Task, v1 } from 'parley-a2a/protocol';
 *   const task = Task.parse(JSON.parse(stored));
 */
export * from './protocol/public/index.ts';
