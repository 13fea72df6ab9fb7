import type { LoginPlace } from '../../coder/index.ts';
import { SecretBox } from '../../store/index.ts';
import { dataFolder } from '../program/data-folder.ts';
import type { Environment } from '../program/flags.ts';

/** Returns where the logins to MCP servers are stored. With PARLEY_SECRET_KEY they are encrypted. */
export function loginPlace(environment: Environment): LoginPlace {
  const key = environment['PARLEY_SECRET_KEY'];
  return {
    dataFolder: dataFolder(environment),
    ...(key && { sealer: (salt: Uint8Array) => new SecretBox(key, salt) }),
  };
}
