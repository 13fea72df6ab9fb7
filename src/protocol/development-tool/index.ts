/**
 * The development-tool extension: the schemas and types of its messages, its version, and the functions that read its
 * events (facts.ts).
 *
 *   type                       where it is sent
 *   AgentSettings              metadata of a session's first message, under EXTENSION_URI
 *   DevelopmentToolEvent       metadata of each status update, under EXTENSION_URI
 *   ToolCall, AgentThought     a data part of a status update's message
 *   ToolCallConfirmation       a data part of the client's message
 *   all types of command.ts    parameters and results of commands/get and command/execute
 */
export * from './call-checks.ts';
export * from './call-details.ts';
export * from './coder-agent.ts';
export * from './command.ts';
export * from './confirmation.ts';
export * from './event.ts';
export * from './extension.ts';
export * from './mcp-servers.ts';
export type { Json } from './message.ts';
export { Struct } from './message.ts';
export * from './tool-call.ts';
export * from './facts.ts';
export * from './message-ids.ts';
