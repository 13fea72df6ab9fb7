/**
 * The exports of the protocol that need no schema. A module that must load fast imports them from here, because
 * protocol/index.ts loads zod and all schemas.
 */
export {
  hasEnded,
  hasOption,
  mayBeCommand,
  OPTION,
  selectedOption,
} from '../development-tool/call-checks.ts';
export {
  argumentText,
  callDetails,
  detailText,
  type CallDetail,
} from '../development-tool/call-details.ts';
export { A2AError } from '../errors.ts';
export { isTerminal } from '../task-state.ts';
