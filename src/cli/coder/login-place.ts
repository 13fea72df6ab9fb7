import type { LoginPlace } from '../../coder/index.ts';
import { SecretBox, secretKeys } from '../../store/index.ts';
import { dataFolder, secretKeyOptions } from '../program/folders.ts';
import type { Environment } from '../program/flags.ts';

/** Returns the folder in which the logins to MCP servers are stored, and their encryption. */
export function loginPlace(environment: Environment): LoginPlace {
  const keys = secretKeys(secretKeyOptions(environment));
  return {
    dataFolder: dataFolder(environment),
    sealer: (salt: Uint8Array) => new SecretBox(keys, salt),
  };
}
