/** The vocabulary of A2A: `parley-a2a/protocol`. */
export * from './protocol/index.ts';
