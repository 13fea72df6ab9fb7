/** The data folder: PARLEY_HOME, or the operating system's usual place for application data. */
import path from 'node:path';
import { dataHome } from '../../base/system/index.ts';
import type { Environment } from './flags.ts';

/** Help for PARLEY_HOME. */
export const DATA_FOLDER_HELP =
  "The data folder. By default the operating system's folder for application data.";

export function dataFolder(environment: Environment): string {
  const home = environment['PARLEY_HOME'];
  if (home !== undefined && home !== '') return path.resolve(home);
  return path.join(dataHome(environment), 'parley');
}
