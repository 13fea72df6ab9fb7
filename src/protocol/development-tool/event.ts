/** The values of `metadata[EXTENSION_URI]` in status updates and in the first message of a session. */
import * as z from 'zod';
import { Id } from '../message.ts';
import { McpServers } from './mcp-servers.ts';
import { message } from './message.ts';

export const DevelopmentToolEventKind = z.enum([
  'DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED',
  'TOOL_CALL_CONFIRMATION',
  'TOOL_CALL_UPDATE',
  'TEXT_CONTENT',
  'STATE_CHANGE',
  'THOUGHT',
]);
export type DevelopmentToolEventKind = z.infer<typeof DevelopmentToolEventKind>;

/**
 * The client that sent a message, in a session that several clients share. The name may be the client's own choice.
 * `kind` (`terminal`, `a2a`, `acp` or `http`) and `at` (the time) are only in stored messages, for the list of
 * approvals.
 */
export const EventSource = message({
  client: Id,
  name: z.string().optional(),
  kind: z.string().optional(),
  at: z.string().optional(),
});
export type EventSource = z.infer<typeof EventSource>;

/** The usage of the session. Unknown values are missing. */
export const SessionUsage = message({
  /** The size of the conversation in tokens, as the next request sends it. After /compress it is an estimate. */
  contextTokens: z.int().min(0).optional(),
  /** The size of the model's context window. */
  contextLimit: z.int().min(0).optional(),
  costUsd: z.number().min(0).optional(),
});
export type SessionUsage = z.infer<typeof SessionUsage>;

/** Added by Parley to the calls, thoughts and events of a helper (a sub-agent). */
export const HelperMark = message({
  /** The helper's name. */
  agent: z.string().optional(),
  /** The `task` call that the helper works for. */
  parentToolCallId: Id.optional(),
});
export type HelperMark = z.infer<typeof HelperMark>;

/** The metadata of a status update. The content is in the parts of the update's message. */
export const DevelopmentToolEvent = message({
  kind: DevelopmentToolEventKind,
  model: z.string(),
  user_tier: z.string().optional(),
  /** An error of the agent itself, not of one of its tools. */
  error: z.string().optional(),
  /** Added by Parley: a code for the limit that ended the turn, such as `step-limit`. */
  errorCode: z.string().optional(),
  /** Added by Parley: the id of the pending request, or of the failure in the server's log. */
  correlationId: Id.optional(),
  source: EventSource.optional(),
  /** Added by Parley: the usage, which is sent when a turn ends or waits for an answer. */
  usage: SessionUsage.optional(),
  /** Added by Parley: the approval mode of the session, which is sent together with the usage. */
  approval: z.string().optional(),
  ...HelperMark.shape,
});
export type DevelopmentToolEvent = z.infer<typeof DevelopmentToolEvent>;

/** A thought of the agent. Of a helper, also the text that it says beside its calls. */
export const AgentThought = message({
  subject: z.string(),
  description: z.string(),
  ...HelperMark.shape,
});
export type AgentThought = z.infer<typeof AgentThought>;

/** The settings that a client sends in the metadata of a session's first message. */
export const AgentSettings = message({
  /** The absolute path of the workspace. It may be omitted if the server has only one workspace. */
  workspace_path: z.string().min(1).max(4096).optional(),
  /** Added by Parley: whether tools run without asking. The server must allow this. */
  autoExecute: z.boolean().optional(),
  /** Added by Parley: additional MCP servers for this session. */
  mcpServers: McpServers.optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;
