/** Where the register of a store lies: `gateway.db` has `gateway.register.db` beside it. */
import { format, parse } from 'node:path';

export function registerPath(storeFile: string): string {
  const { dir, name, ext } = parse(storeFile);
  return format({ dir, name: `${name}.register`, ext: ext === '' ? '.db' : ext });
}
