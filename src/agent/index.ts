/**
 * The agent framework: agents, runners, tools, models, sessions and artifacts. It is independent of A2A.
 *
 *   const agent = llmAgent({ name: 'weather', model: 'google:gemini-3-flash', instruction: '…', tools: [forecast] });
 *   const { text } = await createRunner({ agent }).runToEnd({ user: 'ann', session: 's1', message: 'Rain in Rome?' });
 */
export type { JsonObject, JsonValue, MaybePromise } from '../base/index.ts';
export type { Agent, ChildOptions, RunContext } from './agent.ts';
export * from './agents/custom.ts';
export * from './agents/llm.ts';
export * from './agents/workflow.ts';
export type { ArtifactContent, Artifacts, ArtifactStore } from './artifact.ts';
export { memoryArtifacts, type MemoryArtifactsOptions } from './artifacts/memory.ts';
export type { CanceledRun } from './canceled-run.ts';
export type { CompactionOptions } from './run/compaction.ts';
export * from './content.ts';
export { delegatedIn, isDelegatedSession, type DelegatedEvent } from './delegated.ts';
export { RunError, type RunErrorCode } from './errors.ts';
export * from './event.ts';
export * from './model.ts';
export { offlineModel } from './models/offline.ts';
export * from './models/provider.ts';
export type { ModelProvider, ModelProviders } from './models/model-servers.ts';
export type { TimeoutOptions } from './models/timeouts.ts';
export {
  defaultModelName,
  resolveModel as model,
  type ResolveOptions as ModelOptions,
} from './models/resolve.ts';
export type { ModelRetryOptions } from './models/retry.ts';
export type { VendorEnvironment } from './models/vendors.ts';
export type { ConversationalAgent } from './run/tree.ts';
export {
  scriptedModel,
  type ScriptedOptions,
  type ScriptedResponse,
  type ScriptStep,
} from './models/scripted.ts';
export type * from './plugin.ts';
export { resultOf, type RunResult } from './run/run-result.ts';
export type { RunLimits } from './run/run.ts';
export { endRun, type RunEnd } from './run/cancel-run.ts';
export { openRun, type OpenRun, type OpenRunOptions } from './run/open-run.ts';
export {
  createRunner,
  type BeginOptions,
  type CancelOptions,
  type PendingOptions,
  type ProceedOptions,
  type ResumeRunOptions,
  type Runner,
  type RunnerOptions,
  type RunOptions,
} from './run/runner.ts';
export * from './session.ts';
export { memorySessions, type MemorySessionsOptions } from './sessions/memory.ts';
export { StorageError, type StorageErrorCode } from './storage-error.ts';
export * from './tool.ts';
export { ToolError, type ToolErrorDetails, type ToolErrorType } from './tool-error.ts';
export { agentTool, type AgentToolOptions } from './agents/agent-tool.ts';
export { tool, type FunctionToolOptions } from './tools/function-tool.ts';
export * from './tools/mcp.ts';
export { McpError, type McpErrorCode } from './tools/mcp-error.ts';
export type { McpPrompt, McpPromptArgument } from './tools/mcp-prompts.ts';
export type { McpRoot } from './tools/mcp-requests.ts';
export type { McpResource } from './tools/mcp-resources.ts';
export type { McpFile, SaveMcpFile } from './tools/mcp-result.ts';
export { samplingTool, type SamplingOptions } from './tools/mcp-sampling.ts';
export type {
  McpAuthorization,
  McpCommand,
  McpServerConfig,
  McpUrl,
} from './tools/mcp-transport.ts';
