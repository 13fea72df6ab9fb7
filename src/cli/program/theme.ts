/** The colours of the terminal UI: those of `--theme`, else the person's own from the settings. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { usageError } from './exit.ts';
import type { Environment } from './flags.ts';

export const THEME_FLAG = {
  type: 'string',
  value: 'NAME',
  help: 'dark (the default), light or none; else the theme of settings.json.',
} as const;

export async function chosenTheme(
  flag: string | undefined,
  environment: Environment,
): Promise<string | undefined> {
  if (flag === undefined) return themeIn(environment);
  const { THEME_NAMES } = await import('../../tui/text/index.ts');
  if (THEME_NAMES.some((name) => name === flag)) return flag;
  throw usageError(`--theme: there is no ${flag}; there are ${THEME_NAMES.join(', ')}`);
}

/** A file that cannot be read is complained of when the agent reads it. */
async function themeIn(environment: Environment): Promise<string | undefined> {
  const { configFolder } = await import('../../coder/index.ts');
  const folder = configFolder(environment);
  if (!existsSync(path.join(folder, 'settings.json'))) return undefined;
  const { loadSettings } = await import('../../coder/settings/index.ts');
  try {
    return (await loadSettings({ configFolder: folder, workspace: folder, trusted: false }))
      .settings.theme;
  } catch {
    return undefined;
  }
}
