export { Settings, type NotifySettings } from './schema.ts';
export {
  SettingsError,
  loadSettings,
  userSettingsFile,
  workspaceSettingsFile,
} from './settings.ts';
export { isTrusted, trust } from './trust.ts';
