export { StoreError, type StoreErrorCode } from '../base/sqlite/index.ts';
export { SecretBox, secretKeys, type SecretKeyOptions } from './secrets.ts';
export { sqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite.ts';
export { inspectStore } from './inspect-store.ts';
