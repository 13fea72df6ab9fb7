export { createAudit } from './audit.ts';
export { createKeys, type Keys } from './keys.ts';
export { openPepper } from './pepper.ts';
export { Budget, Key, MadeKey, NewKey } from './schema.ts';
