/** What goes with each status update, and what the client says at the start. Both travel in `metadata[EXTENSION_URI]`. */
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

/** Who said it, where several clients share a session. */
export const EventSource = message({ client: Id, name: z.string().optional() });
export type EventSource = z.infer<typeof EventSource>;

/** What the session has used, as far as it is known. */
export const SessionUsage = message({
  /** Of the last request and its answer: what the conversation takes up. */
  contextTokens: z.int().min(0).optional(),
  /** What the model can take. */
  contextLimit: z.int().min(0).optional(),
  costUsd: z.number().min(0).optional(),
});
export type SessionUsage = z.infer<typeof SessionUsage>;

/** Says what a status update is about; its message's parts hold the thing itself. */
export const DevelopmentToolEvent = message({
  kind: DevelopmentToolEventKind,
  model: z.string(),
  user_tier: z.string().optional(),
  /** The agent itself went wrong (not a tool of its). */
  error: z.string().optional(),
  /** Parley's: which limit it was that ended the turn, for programs: `step-limit`. */
  errorCode: z.string().optional(),
  /** Parley's: the pending call's, or the failure's in the server's log. */
  correlationId: Id.optional(),
  source: EventSource.optional(),
  /** Parley's: at the end of a turn, and where it waits. */
  usage: SessionUsage.optional(),
});
export type DevelopmentToolEvent = z.infer<typeof DevelopmentToolEvent>;

export const AgentThought = message({ subject: z.string(), description: z.string() });
export type AgentThought = z.infer<typeof AgentThought>;

const NAMES_AND_VALUES = z.record(z.string().min(1).max(256), z.string().max(32_768));

/** An MCP server: a program that is started (`command`), or an address (`url`). */
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

/** The name is the first part of its tools' names: `SERVER__TOOL`. */
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

/** The client's wishes, in the metadata of a session's first message. */
export const AgentSettings = message({
  /** Absolute. Absent: the server's only workspace. */
  workspace_path: z.string().min(1).max(4096).optional(),
  /** Parley's: do not ask before tools are used. The server has to allow that. */
  autoExecute: z.boolean().optional(),
  /** Parley's: more MCP servers for this session. */
  mcpServers: McpServers.optional(),
});
export type AgentSettings = z.infer<typeof AgentSettings>;
