export { checkVersion, migrate, type Schema } from './schema.ts';
export { SecretBox } from './secrets.ts';
export { StoreError, sqliteStore, type SqliteStoreOptions } from './sqlite.ts';
export { reasonOf, sqliteCode } from './store-error.ts';
