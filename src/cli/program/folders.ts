/**
 * The folders of the user: the data folder, with the keys that encrypt stored secrets, and the folder of the settings.
 */
import path from 'node:path';
import { dataHome, homeFolder } from '../../base/system/index.ts';
import type { SecretKeyOptions } from '../../store/index.ts';
import type { Environment } from './flags.ts';

/** Help for PARLEY_HOME. */
export const DATA_FOLDER_HELP =
  "The data folder. By default the operating system's folder for application data.";

/** Returns the data folder: PARLEY_HOME, or the operating system's usual place for application data. */
export function dataFolder(environment: Environment): string {
  const home = environment['PARLEY_HOME'];
  if (home !== undefined && home !== '') return path.resolve(home);
  return path.join(dataHome(environment), 'parley');
}

/**
 * Returns the folder of the user's settings, commands and memory: `$XDG_CONFIG_HOME/parley`, or `~/.config/parley`.
 */
export function configFolder(environment: Environment): string {
  const config = environment['XDG_CONFIG_HOME'];
  // The XDG specification requires that relative paths are ignored.
  const base =
    config !== undefined && path.isAbsolute(config) ? config : path.join(homeFolder(), '.config');
  return path.join(base, 'parley');
}

const SECRET_KEY_FILE = 'secret.key';

/** Help for the variables of every command that stores secrets. */
export const SECRET_KEY_VARIABLES = {
  PARLEY_SECRET_KEY:
    'A secret of your choice. It encrypts webhook configurations, headers of registered agents and logins to MCP servers before they are stored. If it is not set, Parley creates a key in the data folder (secret.key). This key is not used for secrets in PostgreSQL. To store secrets there, set this variable to the same value on all machines.',
  PARLEY_PREVIOUS_SECRET_KEY:
    'The former PARLEY_SECRET_KEY. Secrets that were stored with it can still be read.',
} as const;

/** Returns the keys that encrypt stored secrets: PARLEY_SECRET_KEY, or a file in the data folder. */
export function secretKeyOptions(environment: Environment): SecretKeyOptions {
  return {
    secretKey: environment['PARLEY_SECRET_KEY'],
    previousSecretKey: environment['PARLEY_PREVIOUS_SECRET_KEY'],
    secretKeyFile: path.join(dataFolder(environment), SECRET_KEY_FILE),
  };
}
