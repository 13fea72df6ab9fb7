export { makeFolder } from './make-folder.ts';
export { absoluteFolders } from './search-path.ts';
export { readOrCreateSecret } from './secret-file.ts';
