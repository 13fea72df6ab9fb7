export { makeFolder } from './make-folder.ts';
export { absoluteFolders } from './search-path.ts';
export { readOrCreateSecret, readSecret } from './secret-file.ts';
