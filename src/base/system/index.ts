export {
  browserCommand,
  dataHome,
  DEFAULT_SEARCH_PATH,
  hasProc,
  hasSandbox,
  isUnix,
  isWindows,
  SYSTEM,
} from './system.ts';
