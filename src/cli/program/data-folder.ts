/** The data folder: PARLEY_HOME, or the operating system's usual place for application data. */
import { homedir } from 'node:os';
import path from 'node:path';
import type { Environment } from './flags.ts';

/** Help for PARLEY_HOME. */
export const DATA_FOLDER_HELP =
  "The data folder. By default the operating system's folder for application data.";

export function dataFolder(environment: Environment): string {
  const home = environment['PARLEY_HOME'];
  if (home !== undefined && home !== '') return path.resolve(home);
  return path.join(systemFolder(environment), 'parley');
}

function systemFolder(environment: Environment): string {
  switch (process.platform) {
    case 'darwin':
      return path.join(homedir(), 'Library', 'Application Support');
    case 'win32':
      return environment['LOCALAPPDATA'] || path.join(homedir(), 'AppData', 'Local');
    default: {
      const data = environment['XDG_DATA_HOME'];
      // The XDG specification requires that relative paths are ignored.
      return data !== undefined && path.isAbsolute(data)
        ? data
        : path.join(homedir(), '.local', 'share');
    }
  }
}
