export { makeFolder } from './make-folder.ts';
export { absoluteFolders } from './search-path.ts';
export { readOrCreateSecret, readSecret, writeSecret } from './secret-file.ts';
