/** The values of `metadata[EXTENSION_URI]`: of a status update, and of the first message of a session. */
import * as z from 'zod';
import { Id } from '../message.ts';
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

/** The client that sent a message, in a session that several clients share. */
export const EventSource = message({ client: Id, name: z.string().optional() });
export type EventSource = z.infer<typeof EventSource>;

/** The known usage of the session. */
export const SessionUsage = message({
  /** The size of the conversation: tokens of the last request and its response. */
  contextTokens: z.int().min(0).optional(),
  /** The size of the model's context window. */
  contextLimit: z.int().min(0).optional(),
  costUsd: z.number().min(0).optional(),
});
export type SessionUsage = z.infer<typeof SessionUsage>;

/** The kind of a status update. The parts of its message contain the content. */
export const DevelopmentToolEvent = message({
  kind: DevelopmentToolEventKind,
  model: z.string(),
  user_tier: z.string().optional(),
  /** An error of the agent itself, not of one of its tools. */
  error: z.string().optional(),
  /** Parley's: a code for the limit that ended the turn, such as `step-limit`. */
  errorCode: z.string().optional(),
  /** Parley's: the id of the pending request, or of the failure in the server's log. */
  correlationId: Id.optional(),
  source: EventSource.optional(),
  /** Parley's: sent when a turn ends or waits. */
  usage: SessionUsage.optional(),
});
export type DevelopmentToolEvent = z.infer<typeof DevelopmentToolEvent>;

export const AgentThought = message({ subject: z.string(), description: z.string() });
export type AgentThought = z.infer<typeof AgentThought>;

const NAMES_AND_VALUES = z.record(z.string().min(1).max(256), z.string().max(32_768));

/** An MCP server: a program to start (`command`), or a URL (`url`). */
export const McpServer = z
  .strictObject({
    command: z.string().min(1).optional().describe('The program to start; it speaks over stdio.'),
    args: z.array(z.string()).max(256).optional().describe('Its arguments.'),
    env: NAMES_AND_VALUES.optional().describe('Variables added to its environment.'),
    cwd: z.string().min(1).optional().describe('The folder it is started in; the workspace.'),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('The address of a server over HTTP.'),
    headers: NAMES_AND_VALUES.optional().describe('Sent with each request to the address.'),
    timeoutMs: z.int().min(1).max(3_600_000).optional().describe('For one call of a tool.'),
    disabled: z.boolean().optional().describe('Known, but not used.'),
  })
  .refine((server) => (server.command === undefined) !== (server.url === undefined), {
    message: 'exactly one of command and url',
  });
export type McpServer = z.infer<typeof McpServer>;

/** MCP servers by name. The name is the prefix of its tools: `SERVER__TOOL`. */
export const McpServers = z.record(
  z
    .string()
    .max(64)
    .regex(/^[A-Za-z0-9](?:_?[A-Za-z0-9.-])*$/, {
      message: 'letters, digits, ".", "-" and single "_"',
    }),
  McpServer,
);
export type McpServers = z.infer<typeof McpServers>;

/** The settings that a client sends in the metadata of a session's first message. */
export const AgentSettings = message({
  /** An absolute path. Defaults to the server's only workspace. */
  workspace_path: z.string().min(1).max(4096).optional(),
  /** Parley's: run tools without asking. The server must allow this. */
  autoExecute: z.boolean().optional(),
  /** Parley's: additional MCP servers for this session. */
  mcpServers: McpServers.optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;
