/** The keys that encrypt stored secrets: PARLEY_SECRET_KEY, or a file in the data folder. */
import path from 'node:path';
import type { SecretKeyOptions } from '../../store/index.ts';
import { dataFolder } from './data-folder.ts';
import type { Environment } from './flags.ts';

const KEY_FILE = 'secret.key';

/** Help for the variables of every command that stores secrets. */
export const SECRET_KEY_VARIABLES = {
  PARLEY_SECRET_KEY:
    'A secret of your choice. It encrypts webhook configurations, headers of registered agents and logins to MCP servers before they are stored. If it is not set, Parley creates a key in the data folder (secret.key). This key is not used for secrets in PostgreSQL. To store secrets there, set this variable to the same value on all machines.',
  PARLEY_PREVIOUS_SECRET_KEY:
    'The former PARLEY_SECRET_KEY. Secrets that were stored with it can still be read.',
} as const;

export function secretKeyOptions(environment: Environment): SecretKeyOptions {
  return {
    secretKey: environment['PARLEY_SECRET_KEY'],
    previousSecretKey: environment['PARLEY_PREVIOUS_SECRET_KEY'],
    secretKeyFile: path.join(dataFolder(environment), KEY_FILE),
  };
}
