export { confirmationsIn } from './approval/answers.ts';
export { approvalLine, approvalsIn, type Approval } from './approval/approvals.ts';
export { answersCalls, callsAwaitingAnswer } from './turn/call-states.ts';
export { clientName, displayName, MAX_CLIENT_NAME } from './turn/client-name.ts';
export { MODE_KEY } from './approval/guard.ts';
export { grantFrom } from './approval/options.ts';
export { decide, rulesFrom } from './approval/policy.ts';
export { requirePromptRoles, requireRole, rolesOf, type LiveUser } from './approval/roles.ts';
export { ApprovalMode, type PolicyRule } from './approval/rule.ts';
export { createCoder, type Coder, type CoderOptions } from './coder.ts';
export { runsBesideQuestion } from './commands/registry.ts';
export { beginning, notStarted, type CommandService } from './commands/service.ts';
export { isInside } from './files/path-rules.ts';
export { ripgrepFile } from './files/ripgrep.ts';
export { coderServeOptions } from './serve-options.ts';
export { quotedText } from './approval/quoted.ts';
export { logInToMcpServer, logOutOfMcpServer } from './session/mcp-login.ts';
export type { LoginPlace } from './session/mcp-logins.ts';
export { probeMcp } from './session/mcp-tools.ts';
export {
  filesRefused,
  logNotices,
  retryNotice,
  smallContextWindow,
  type Notify,
} from './session/notices.ts';
export { APP } from './session/workspace-agent.ts';
export { SETTINGS_KEY, WORKSPACE_KEY } from './session/workspace-agents.ts';
export { MODEL_KEY } from './session/session-model.ts';
export { sessionKey } from './session/session-owner.ts';
export { sessionStatus, type SessionStatus } from './session/session-status.ts';
export { hideVariables, isSecret } from './shell/environment.ts';
export { hasTerminal } from './shell/launch.ts';
export { openShell, type Shell } from './shell/shell.ts';
export { openSandbox } from './shell/sandbox.ts';
export { SandboxUnavailable } from './shell/sandbox-unavailable.ts';
export { patchPaths } from './tools/apply-patch.ts';
export type { Preview } from './tools/tool.ts';
export { namedExtensions } from './views/views.ts';
