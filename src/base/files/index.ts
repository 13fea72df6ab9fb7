export { makeFolder } from './make-folder.ts';
export { readOrCreateSecret } from './secret-file.ts';
