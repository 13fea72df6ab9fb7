/** Tasks in SQLite: `parley-a2a/store/sqlite`. */
export {
  StoreError,
  sqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from './store/index.ts';
