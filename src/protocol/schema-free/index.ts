/**
 * The exports of the protocol that need no schema. A module that must load fast imports them from here, because
 * protocol/index.ts loads zod and all schemas.
 */
export {
  confirmationOf,
  hasEnded,
  hasOption,
  isAlreadyResolved,
  isAwaitingAnswer,
  mayBeCommand,
  OPTION,
  requestId,
  selectedOption,
} from '../development-tool/call-checks.ts';
export {
  argumentText,
  callDetails,
  detailText,
  type CallDetail,
} from '../development-tool/call-details.ts';
export {
  binaryNote,
  headerNotes,
  isBinary,
  isShortened,
  isWithoutDiff,
  leavesOut,
  noDiffNote,
  truncatedNote,
} from '../development-tool/diff-notes.ts';
export { isTerminal } from '../task-state.ts';
