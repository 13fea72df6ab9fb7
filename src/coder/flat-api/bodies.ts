/** The request bodies of the flat API, and their conversion to A2A messages. */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import { defined } from '../../base/index.ts';
import {
  extensionMetadata,
  McpServers,
  type GetAllSlashCommandsRequest,
  type ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { A2AError, Id, type Message, type Metadata, type Part } from '../../protocol/index.ts';

const MAX_TEXT = 1024 * 1024;
const MAX_ARGUMENTS = 64;

const Text = z.string().min(1).max(MAX_TEXT);
const WorkspacePath = z.string().min(1).max(4096);

/** Unknown fields are refused, because a misspelt setting would have no effect. */
const Settings = z.strictObject({
  kind: z.literal('agent-settings').optional(),
  workspacePath: WorkspacePath.optional(),
  autoExecute: z.boolean().optional(),
  mcpServers: McpServers.optional(),
});
type Settings = z.infer<typeof Settings>;

/** Unknown fields are refused, because a misspelt field could change the meaning of an approval. */
const Confirmation = z.strictObject({
  kind: z.literal('tool-call-confirmation'),
  toolCallId: Id,
  approved: z.boolean(),
  /** The selected option. Default: `proceed_once` or `cancel`, depending on `approved`. */
  optionId: Id.optional(),
  correlationId: Id.optional(),
  /** With the option `modify`: the content to write instead of the proposed content. */
  newContent: z.string().optional(),
  /** The text of the option `answer`. */
  answer: Text.optional(),
  /** The reason why the call is declined. */
  reason: z.string().max(4096).optional(),
});
type Confirmation = z.infer<typeof Confirmation>;

/** The schema of a setting that is outside `agentSettings` by mistake. */
const misplaced = z.undefined({ error: 'must be in agentSettings' }).optional();
const MISPLACED = { workspacePath: misplaced, autoExecute: misplaced, mcpServers: misplaced };

export const CreateTask = z.looseObject({
  ...MISPLACED,
  contextId: Id.optional(),
  agentSettings: Settings.optional(),
});

export const StreamMessage = z.looseObject({
  ...MISPLACED,
  taskId: Id.optional(),
  contextId: Id.optional(),
  userMessage: z.union(
    [
      Text,
      z.discriminatedUnion('kind', [
        z.looseObject({ kind: z.literal('text-content'), text: Text }),
        Confirmation,
      ]),
    ],
    { error: 'must be text, or an object of the kind text-content or tool-call-confirmation' },
  ),
  agentSettings: Settings.optional(),
});
type StreamMessage = z.infer<typeof StreamMessage>;

export const ListCommands = z.looseObject({
  /** The conversation for which the commands are listed or run. */
  contextId: Id.optional(),
  /** The workspace of a new conversation. */
  workspacePath: WorkspacePath.optional(),
});

export const ExecuteCommand = z.looseObject({
  /** The name of the command, for example `memory add`. A leading slash is optional. */
  command: z.string().min(1).max(1024),
  args: z.array(z.string().max(MAX_TEXT)).max(MAX_ARGUMENTS).default([]),
  ...ListCommands.shape,
});

/** Returns the conversation and the workspace in a request about commands. */
export function commandPlace({
  contextId,
  workspacePath: workspace_path,
}: z.infer<typeof ListCommands>): GetAllSlashCommandsRequest {
  return defined({ contextId, workspace_path });
}

export const ListTasks = z.looseObject({
  /** Maximum number of tasks. */
  limit: z.coerce.number().pipe(z.int().min(1).max(100)).default(50),
  /** The `cursor` in the link to the next page. */
  cursor: z.string().max(1024).optional(),
});

/** Returns message metadata that contains the settings, or undefined if there are no settings. */
export function settingsMetadata(settings: Settings | undefined): Metadata | undefined {
  if (!settings) return undefined;
  const { workspacePath: workspace_path, autoExecute, mcpServers } = settings;
  return extensionMetadata(defined({ workspace_path, autoExecute, mcpServers }));
}

export function messageFrom({
  taskId,
  contextId,
  userMessage,
  agentSettings,
}: StreamMessage): Message {
  return {
    kind: 'message',
    messageId: randomUUIDv7(),
    role: 'user',
    parts: [partFrom(userMessage, taskId)],
    ...defined({ taskId, contextId, metadata: settingsMetadata(agentSettings) }),
  };
}

function partFrom(said: StreamMessage['userMessage'], taskId: string | undefined): Part {
  if (typeof said === 'string') return { kind: 'text', text: said };
  if (said.kind === 'text-content') return { kind: 'text', text: said.text };
  if (taskId === undefined) {
    throw new A2AError('invalidParams', 'taskId: required for a tool-call-confirmation');
  }
  return { kind: 'data', data: confirmationFrom(said) };
}

function confirmationFrom(confirmation: Confirmation): ToolCallConfirmation {
  const { toolCallId, approved, optionId, correlationId, newContent, answer, reason } =
    confirmation;
  const chosen = optionId ?? (approved ? 'proceed_once' : 'cancel');
  if (approved === (chosen === 'cancel')) {
    throw new A2AError('invalidParams', 'optionId: contradicts "approved"');
  }
  return {
    tool_call_id: toolCallId,
    selected_option_id: chosen,
    ...(newContent !== undefined && { file_details: { new_content: newContent } }),
    ...defined({ correlationId, answer, reason }),
  };
}
