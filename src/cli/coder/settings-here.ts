import { isTrusted, loadSettings } from '../../coder/settings/index.ts';
import { configFolder } from '../program/config-folder.ts';
import type { Environment } from '../program/flags.ts';

/** Loads the settings for the current folder. The settings of the folder itself are used only if it is trusted. */
export async function settingsHere(environment: Environment) {
  const config = configFolder(environment);
  const workspace = process.cwd();
  const trusted = await isTrusted(config, workspace);
  const loaded = await loadSettings({ configFolder: config, workspace, trusted });
  return { ...loaded, config, workspace, trusted };
}
