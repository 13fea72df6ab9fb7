export { makeFolder } from './make-folder.ts';
export { absoluteFolders } from './search-path.ts';
export { isExposed, readOrCreateSecret, readSecret, writePrivateFile } from './secret-file.ts';
