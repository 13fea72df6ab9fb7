/** The flags for the appearance of the terminal UI: `--theme` and `--plain`. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { configFolder } from './folders.ts';
import { usageError } from './exit.ts';
import { type Environment, option, toggle } from './flags.ts';

export const THEME_FLAG = option(
  'NAME',
  'dark, light or none. The default is the theme in settings.json, or dark.',
);

export const PLAIN_FLAG = toggle('Print line by line without redrawing, for screen readers.');

export async function chosenTheme(
  flag: string | undefined,
  environment: Environment,
): Promise<string | undefined> {
  if (flag === undefined) return themeIn(environment);
  const { THEME_NAMES } = await import('../../tui/text/index.ts');
  if (THEME_NAMES.some((name) => name === flag)) return flag;
  throw usageError(`--theme ${flag}: use one of ${THEME_NAMES.join(', ')}`);
}

/**
 * Returns the theme in the user's settings. Ignores errors in the settings, because the commands that run the agent
 * report them.
 */
async function themeIn(environment: Environment): Promise<string | undefined> {
  if (!existsSync(path.join(configFolder(environment), 'settings.json'))) return undefined;
  const { ownSettings } = await import('./settings.ts');
  try {
    return (await ownSettings(environment)).theme;
  } catch {
    return undefined;
  }
}
