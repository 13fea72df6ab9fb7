export { fileCheck } from './file-check.ts';
export { tryLock, type FileLock } from './file-lock.ts';
export { createFile, openDatabase, prepareFile } from './open-database.ts';
export { migrate, type Schema } from './schema.ts';
export { isDatabaseDamaged, sqliteCode, toStoreError } from './store-error.ts';
export { StoreError } from '../store-error.ts';
