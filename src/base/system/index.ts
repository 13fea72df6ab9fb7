export {
  browserCommand,
  dataHome,
  DEFAULT_SEARCH_PATH,
  hasProc,
  hasSandbox,
  homeFolder,
  isUnix,
  isWindows,
  NoHomeError,
  SYSTEM,
} from './system.ts';
