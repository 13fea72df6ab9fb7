export { confirmationsIn, standingOf } from './approval/confirmations.ts';
export { MODE_KEY, modeOf } from './approval/guard.ts';
export { grantFrom } from './approval/options.ts';
export {
  LIVE_ROLES,
  requireMessageRoles,
  requirePromptRoles,
  requireRole,
  rolesOf,
  type LiveUser,
} from './approval/roles.ts';
export { ApprovalMode } from './approval/rule.ts';
export { createCoder, type Coder } from './coder.ts';
export type { CommandService } from './commands/service.ts';
export { configFolder } from './files/config-folder.ts';
export { isInside } from './files/path-rules.ts';
export { ripgrepFile } from './files/ripgrep.ts';
export { coderServeOptions } from './serve-options.ts';
export { APP, type Seat } from './session/seat.ts';
export { WORKSPACE_KEY } from './session/seats.ts';
export { MODEL_KEY } from './session/session-model.ts';
export { hasTerminal } from './shell/launch.ts';
export { SandboxUnavailable, openSandbox } from './shell/sandbox.ts';
export type { Preview } from './tools/tool.ts';
