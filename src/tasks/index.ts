export * from './public/index.ts';
export { tracedExecutor } from './execution/traced-executor.ts';
export { callWith, type CheckAccess, guardHandler, hidePushSecrets, mapCalls } from './guard.ts';
export { FinishedTaskError, trimHistory } from './handler.ts';
export { DEFAULT_RETENTION, keepTasks } from './retention.ts';
export { startSweeper } from './sweeper.ts';
export { ContextMismatchError } from './intake.ts';
export { opening } from './log/task-stream.ts';
export { sameJson } from './store/same-json.ts';
export { roughSize } from './log/size.ts';
export {
  ChangeClock,
  Cursors,
  KEPT,
  MAX_DEAD_LETTERS,
  UNFINISHED,
  checkAppend,
  scopeKey,
  setsStatus,
  foldedStatus,
} from './store/store-rules.ts';
