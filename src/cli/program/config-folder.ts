/** The folder of the user's settings, commands and memory: `$XDG_CONFIG_HOME/parley`, or `~/.config/parley`. */
import path from 'node:path';
import { homeFolder } from '../../base/system/index.ts';
import type { Environment } from './flags.ts';

export function configFolder(environment: Environment): string {
  const config = environment['XDG_CONFIG_HOME'];
  // The XDG specification requires that relative paths are ignored.
  const base =
    config !== undefined && path.isAbsolute(config) ? config : path.join(homeFolder(), '.config');
  return path.join(base, 'parley');
}
