export { checkVersion, migrate, type Schema } from './schema.ts';
export { SecretBox } from './secrets.ts';
export { StoreError, sqliteStore, type SqliteStore, type SqliteStoreOptions } from './sqlite.ts';
export { sqliteCode } from './store-error.ts';
