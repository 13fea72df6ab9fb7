/** Loads the settings of the coding agent. */
import { isTrusted, loadSettings, type Settings } from '../../coder/settings/index.ts';
import { configFolder } from './folders.ts';
import type { Environment } from './flags.ts';

/** Returns the user's own settings, without those of a workspace. */
export async function ownSettings(environment: Environment): Promise<Settings> {
  return (await loadSettings({ configFolder: configFolder(environment), trusted: false })).settings;
}

/**
 * Returns the settings for a folder. The settings in the folder itself are used only if the folder is trusted, and is
 * the only folder in which the agent works (`isOnly`).
 */
export async function settingsFor(
  workspace: string,
  environment: Environment,
  { isOnly = true } = {},
) {
  const config = configFolder(environment);
  const trusted = await isTrusted(config, workspace);
  const loaded = await loadSettings({
    configFolder: config,
    workspace,
    trusted: trusted && isOnly,
  });
  return { ...loaded, config, trusted };
}
