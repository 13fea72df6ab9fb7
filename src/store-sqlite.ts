/** Tasks in SQLite: `parley-a2a/store/sqlite`. */
export { StoreError, sqliteStore, type SqliteStoreOptions } from './store/index.ts';
