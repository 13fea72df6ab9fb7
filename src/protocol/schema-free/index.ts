/**
 * The exports of the protocol that need no schema. A module that must load fast imports them from here, because
 * protocol/index.ts loads zod and all schemas.
 */
export * from '../development-tool/call-checks.ts';
export * from '../development-tool/call-details.ts';
export * from '../development-tool/diff-notes.ts';
export { isTerminal } from '../task-state.ts';
