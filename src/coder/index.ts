export { confirmationsIn } from './approval/answers.ts';
export { callsAwaitingAnswer } from './approval/call-states.ts';
export { MODE_KEY } from './approval/guard.ts';
export { grantFrom } from './approval/options.ts';
export {
  requireMessageRoles,
  requirePromptRoles,
  requireRole,
  rolesOf,
  type LiveUser,
} from './approval/roles.ts';
export { ApprovalMode } from './approval/rule.ts';
export { createCoder, type Coder } from './coder.ts';
export type { CommandService } from './commands/service.ts';
export { isInside } from './files/path-rules.ts';
export { ripgrepFile } from './files/ripgrep.ts';
export { coderServeOptions } from './serve-options.ts';
export { APP, type WorkspaceAgent } from './session/workspace-agent.ts';
export { WORKSPACE_KEY } from './session/workspace-agents.ts';
export { MODEL_KEY } from './session/session-model.ts';
export { sessionStatus, type SessionStatus } from './session/session-status.ts';
export { hasTerminal } from './shell/launch.ts';
export { SandboxUnavailable, openSandbox } from './shell/sandbox.ts';
export type { Preview } from './tools/tool.ts';
