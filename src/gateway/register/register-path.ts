/** Returns the path of the register that belongs to a store, for example `gateway.register.db` for `gateway.db`. */
import { format, parse } from 'node:path';

export function registerPath(storeFile: string): string {
  const { dir, name, ext } = parse(storeFile);
  return format({ dir, name: `${name}.register`, ext: ext === '' ? '.db' : ext });
}
