/**
 * The development-tool extension: every message of its specification as a schema with its type, its version, and its
 * place in `metadata`.
 *
 *   thing                      where it travels
 *   AgentSettings              metadata of a session's first message, under EXTENSION_URI
 *   DevelopmentToolEvent       metadata of each status update, under EXTENSION_URI
 *   ToolCall, AgentThought     a data part of a status update's message
 *   ToolCallConfirmation       a data part of the client's message
 *   SlashCommand and the rest  parameters and results of commands/get and command/execute
 */
export * from './development-tool/command.ts';
export * from './development-tool/event.ts';
export * from './development-tool/extension.ts';
export type { Json } from './development-tool/message.ts';
export { Struct } from './development-tool/message.ts';
export * from './development-tool/tool-call.ts';
