export { fileCheck } from './file-check.ts';
export { createFile, openDatabase, prepareFile } from './open-database.ts';
export { migrate, type Schema } from './schema.ts';
export {
  isDatabaseBusy,
  sqliteCode,
  StoreError,
  toStoreError,
  type StoreErrorCode,
} from './store-error.ts';
