export { fileCheck } from './file-check.ts';
export { createFile, openDatabase, prepareFile } from './open-database.ts';
export { migrate, type Schema } from './schema.ts';
export { isDatabaseBusy, isDatabaseDamaged, sqliteCode, toStoreError } from './store-error.ts';
export { StoreError } from '../store-error.ts';
