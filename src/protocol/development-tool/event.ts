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
 * The client that sent a message, in a session that several clients share. Clients may choose their own names. `kind`
 * (`terminal`, `a2a`, `acp` or `http`) and `at` (the time) are only in stored messages. The list of approvals uses
 * these two fields.
 */
export const EventSource = message({
  client: Id,
  name: z.string().optional(),
  kind: z.string().optional(),
  at: z.string().optional(),
});
export type EventSource = z.infer<typeof EventSource>;

/** The usage of the session. Fields with an unknown value are missing. */
export const SessionUsage = message({
  /** The number of tokens of the conversation in the next request to the model. After /compress, it is an estimate. */
  contextTokens: z.int().min(0).optional(),
  /** The size of the model's context window in tokens. */
  contextLimit: z.int().min(0).optional(),
  costUsd: z.number().min(0).optional(),
});
export type SessionUsage = z.infer<typeof SessionUsage>;

/** The fields that Parley adds to the calls, thoughts and events of a helper (a sub-agent). */
export const HelperMark = message({
  /** The helper's name. */
  agent: z.string().optional(),
  /** The id of the `task` call that the helper works for. */
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
  /**
   * A code for the reason why the turn failed, such as `step-limit` (an addition of Parley). Missing if the reason must
   * stay hidden from clients.
   */
  errorCode: z.string().optional(),
  /** The id of the pending request, or of the failure in the server's log (an addition of Parley). */
  correlationId: Id.optional(),
  source: EventSource.optional(),
  /** The usage of the session, which is sent when a turn ends or waits for an answer (an addition of Parley). */
  usage: SessionUsage.optional(),
  /** The approval mode of the session, which is sent together with the usage (an addition of Parley). */
  approval: z.string().optional(),
  ...HelperMark.shape,
});
export type DevelopmentToolEvent = z.infer<typeof DevelopmentToolEvent>;

/** A thought of the agent. For a helper, this also includes the text between its calls. */
export const AgentThought = message({
  subject: z.string(),
  description: z.string(),
  /**
   * Whether the thought continues the previous one (an addition of Parley). If so, its description is appended to the
   * previous description without a separator, and its subject replaces the previous subject.
   */
  continues: z.boolean().optional(),
  ...HelperMark.shape,
});
export type AgentThought = z.infer<typeof AgentThought>;

/** The settings that a client sends in the metadata of a session's first message. */
export const AgentSettings = message({
  /** The absolute path of the workspace. It may be omitted if the server has only one workspace. */
  workspace_path: z.string().min(1).max(4096).optional(),
  /** Whether tools run without asking (an addition of Parley). The server must allow this. */
  autoExecute: z.boolean().optional(),
  /** Additional MCP servers for this session (an addition of Parley). */
  mcpServers: McpServers.optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;
