/** Settings of the user and the workspace, and which workspaces are trusted. */
export { configFolder } from './settings/config-folder.ts';
export * from './settings/schema.ts';
export {
  loadSettings,
  mergeSettings,
  saveRule,
  SettingsError,
  type LoadedSettings,
} from './settings/settings.ts';
export { isTrusted, trust } from './settings/trust.ts';
