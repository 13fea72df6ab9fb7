export * from './signing-keys.ts';
