/**
 * The predecessor of this extension: the dialect of gemini-cli's a2a-server. Clients and servers that use the dialect
 * do not declare the extension.
 *
 *   metadata.coderAgent of the first message      { kind: 'agent-settings', workspacePath, autoExecute? }
 *   metadata.coderAgent of a status update        { kind }, a CoderAgentKind
 *   a data part of a status update's message      the call in the format of gemini-cli's scheduler, or a thought
 *   a data part of the client's message           the answer: { callId, outcome, newContent? }
 *
 * These functions convert the dialect to values of the extension, so that the rest of the program handles only one
 * format.
 */
import * as z from 'zod';
import { defined, isObject } from '../../base/index.ts';
import { A2AError } from '../errors.ts';
import { parseWith } from '../json.ts';
import { Id, type Message, type Metadata } from '../message.ts';
import type { StreamEvent } from '../task.ts';
import { isInterrupted } from '../task-state.ts';
import { CODER_AGENT, confirmationOf, isCoderAgentForm, OPTION } from './call-checks.ts';
import type { AgentSettings } from './event.ts';
import { plainName, Struct } from './message.ts';
import {
  ConfirmationOption,
  ToolCall,
  type ConfirmationRequest,
  type FileDiff,
  type ToolCallConfirmation,
  type ToolCallStatus,
  type ToolOutput,
} from './tool-call.ts';

/** The kinds of status updates. */
export type CoderAgentKind =
  | 'text-content'
  | 'thought'
  | 'tool-call-update'
  | 'tool-call-confirmation'
  | 'state-change'
  | 'citation';

/** Returns the `kind` in metadata of this dialect, or undefined for other metadata. */
export function coderAgentKind(metadata: Metadata | undefined): string | undefined {
  const value = metadata?.[CODER_AGENT];
  if (!isObject(value)) return undefined;
  const { kind }: { kind?: unknown } = value;
  return typeof kind === 'string' ? kind : undefined;
}

interface DialectRequest {
  readonly extensions: readonly string[];
  readonly message?: Message | undefined;
  /** The metadata of the request, not of its message. */
  readonly metadata?: Metadata | undefined;
  /** The first message of the task. */
  readonly first?: Message | undefined;
}

/**
 * Returns whether the client of a request uses this dialect. One of these signs is enough:
 *
 * - The metadata of the request, of its message or of the task's first message is in this dialect.
 * - The message contains an answer in this dialect.
 * - CODER_AGENT is among the extensions. A live session adds it there, because the turn is read later, without the
 *   message.
 */
export function speaksCoderAgent(request: DialectRequest): boolean {
  const { extensions, message, metadata, first } = request;
  const named = [metadata, message?.metadata, first?.metadata];
  if (named.some((each) => coderAgentKind(each) !== undefined)) return true;
  if (extensions.includes(CODER_AGENT)) return true;
  const parts = message?.parts ?? [];
  return parts.some((part) => part.kind === 'data' && isCoderAgentAnswer(part.data));
}

const Settings = z.looseObject({
  workspacePath: z.string().min(1).max(4096).optional(),
  autoExecute: z.boolean().optional(),
});

/**
 * Returns the client's settings in a message's metadata, or undefined if there are none. Throws if they are invalid.
 * Other settings of gemini-cli are ignored.
 */
export function coderAgentSettings(metadata: Metadata | undefined): AgentSettings | undefined {
  if (coderAgentKind(metadata) !== 'agent-settings') return undefined;
  const settings = parseWith(Settings, metadata?.[CODER_AGENT], `metadata.${CODER_AGENT}`);
  return defined({ workspace_path: settings.workspacePath, autoExecute: settings.autoExecute });
}

const CoderAgentStatus = z.enum([
  'validating',
  'scheduled',
  'awaiting_approval',
  'executing',
  'success',
  'error',
  'cancelled',
]);
/** The status of a call in this dialect. */
export type CoderAgentStatus = z.infer<typeof CoderAgentStatus>;

const STATUS: Readonly<Record<CoderAgentStatus, ToolCallStatus>> = {
  validating: 'PENDING',
  scheduled: 'PENDING',
  awaiting_approval: 'PENDING',
  executing: 'EXECUTING',
  success: 'SUCCEEDED',
  error: 'FAILED',
  cancelled: 'CANCELLED',
};

/** Marks the calls and the answers that were sent in this dialect. */
const MARK = { dialect: CODER_AGENT };

const text = z.string().optional().catch(undefined);
const DIFF_FIELDS = {
  fileName: text,
  filePath: text,
  fileDiff: text,
  originalContent: text,
  newContent: text,
};
const SentCall = z.looseObject({
  request: z.looseObject({ callId: Id, name: z.string(), args: Struct.catch({}) }),
  status: CoderAgentStatus,
  confirmationDetails: z
    .looseObject({
      type: z.string(),
      title: text,
      command: text,
      ...DIFF_FIELDS,
      serverName: text,
      toolName: text,
      prompt: text,
      options: z.array(ConfirmationOption).min(1).max(32).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  liveOutput: text,
  response: z
    .looseObject({
      resultDisplay: z.unknown(),
      error: z.looseObject({ message: text }).optional().catch(undefined),
      errorType: text,
    })
    .optional()
    .catch(undefined),
});
type SentCall = z.infer<typeof SentCall>;
type SentDetails = NonNullable<SentCall['confirmationDetails']>;
type SentDiff = { readonly [Field in keyof typeof DIFF_FIELDS]?: string | undefined };

/** Returns whether the data of an agent's part is a call in this dialect. */
export function isCoderAgentCall(data: object): boolean {
  return 'request' in data && isObject(data.request) && 'callId' in data.request;
}

/** Reads a call that a server of this dialect has sent. Returns undefined if it is invalid. */
export function readCoderAgentCall(data: unknown): ToolCall | undefined {
  const sent = SentCall.safeParse(data).data;
  if (!sent) return undefined;
  const { request, confirmationDetails: details, liveOutput } = sent;
  const waits = sent.status === 'awaiting_approval' && details !== undefined;
  const status = STATUS[sent.status];
  const call = {
    ...MARK,
    tool_call_id: request.callId,
    tool_name: request.name,
    status,
    input_parameters: request.args,
    ...defined({ description: details?.title }),
    ...(waits && { confirmation_request: requestIn(details) }),
    ...(status === 'EXECUTING' && defined({ live_content: liveOutput })),
    ...(status === 'SUCCEEDED' && { output: outputIn(sent.response?.resultDisplay) }),
    ...((status === 'FAILED' || status === 'CANCELLED') && { error: errorIn(sent) }),
  };
  return ToolCall.safeParse(call).data;
}

function requestIn(details: SentDetails): ConfirmationRequest {
  const { type, options = optionsOf(type), command, serverName, toolName } = details;
  if (type === 'exec' && command !== undefined) return { options, execute_details: { command } };
  const diff = type === 'edit' ? diffIn(details) : undefined;
  if (diff) return { options, file_edit_details: diff };
  if (type === 'mcp' && serverName !== undefined && toolName !== undefined) {
    return { options, mcp_details: { server_name: serverName, tool_name: toolName } };
  }
  return { options, generic_details: { description: details.prompt ?? details.title ?? type } };
}

/** Returns the options for a call that was sent without options. gemini-cli's server sends none, but accepts these. */
function optionsOf(type: string): ConfirmationOption[] {
  const always =
    type === 'mcp'
      ? [
          { id: 'proceed_always_tool', name: 'Always allow this tool' },
          { id: 'proceed_always_server', name: 'Always allow all tools of this server' },
        ]
      : [{ id: 'proceed_always', name: 'Always allow' }];
  return [
    { id: OPTION.once, name: 'Allow once' },
    ...always,
    { id: OPTION.cancel, name: 'Reject' },
  ];
}

/** Returns the change of a file, or undefined if its path or its new content is missing. */
function diffIn(sent: SentDiff): FileDiff | undefined {
  const { fileName, filePath = fileName, newContent } = sent;
  if (filePath === undefined || newContent === undefined) return undefined;
  const file = { file_name: fileName ?? filePath, file_path: filePath, new_content: newContent };
  return {
    ...file,
    ...defined({ old_content: sent.originalContent, formatted_diff: sent.fileDiff }),
  };
}

const SentOutput = z.looseObject({ ...DIFF_FIELDS, fileName: z.string() });

function outputIn(display: unknown): ToolOutput {
  if (typeof display === 'string') return { text: display };
  const diff = diffIn(SentOutput.safeParse(display).data ?? {});
  if (diff) return { diff };
  return { text: isObject(display) ? JSON.stringify(display) : '' };
}

function errorIn({ status, response }: SentCall): { message: string; type?: string } {
  const display = response?.resultDisplay;
  const shown = typeof display === 'string' && display !== '' ? display : undefined;
  const message = response?.error?.message ?? shown ?? status;
  return { message, ...defined({ type: response?.errorType }) };
}

/** Returns the data of the part that answers a call, in the format in which the server sent the call. */
export function answerData(call: ToolCall, optionId: string): object {
  return isCoderAgentForm(call)
    ? { callId: call.tool_call_id, outcome: optionId }
    : confirmationOf(call, optionId);
}

const Confirmation = z.looseObject({
  callId: Id,
  outcome: Id,
  newContent: z.string().optional(),
});

/**
 * Returns whether the data of a user's part is meant as an answer in this dialect. The answer may still be invalid.
 */
export function isCoderAgentAnswer(data: unknown): data is object {
  if (!isObject(data) || 'tool_call_id' in data || 'selected_option_id' in data) return false;
  return 'callId' in data && 'outcome' in data;
}

/**
 * Reads an answer in this dialect. Throws if it is invalid. An answer with `newContent` that does not reject the call
 * becomes the option `modify`, because the client replaces the proposed content.
 */
export function readCoderAgentAnswer(data: object): ToolCallConfirmation {
  // If the server ignored a misspelled `newContent`, it would write content that the person has not approved.
  const misspelt = Object.keys(data).find(
    (field) => field !== 'newContent' && plainName(field) === 'newcontent',
  );
  if (misspelt !== undefined) {
    throw new A2AError('invalidParams', `answer: unknown field ${misspelt}; use newContent`);
  }
  const { callId, outcome, newContent } = parseWith(Confirmation, data, 'answer');
  const modifies = newContent !== undefined && outcome !== OPTION.cancel;
  return {
    ...MARK,
    tool_call_id: callId,
    selected_option_id: modifies ? OPTION.modify : outcome,
    ...(modifies && { file_details: { new_content: newContent } }),
  };
}

/**
 * Makes a function that corrects two faults of gemini-cli's server in the events of one stream:
 *
 * - After an approval, the updates of the approved call still have the state `input-required`, so the task would seem
 *   to wait. They get the state `working`.
 * - In newer versions, all chunks of a text have the same message id, so the chunks would seem to be duplicates. Each
 *   repeated id gets a number.
 */
export function createCoderAgentReader(): (event: StreamEvent) => StreamEvent {
  let lastId: string | undefined;
  let repeated = 0;
  return (event) => {
    if (event.kind !== 'status-update') return event;
    const kind = coderAgentKind(event.metadata);
    const { message, state } = event.status;
    if (kind === undefined || kind === 'state-change' || !message) return event;
    repeated = message.messageId === lastId ? repeated + 1 : 0;
    lastId = message.messageId;
    const stale = isInterrupted(state) && !event.final;
    if (!stale && repeated === 0) return event;
    const messageId = repeated === 0 ? lastId : `${lastId}/${repeated}`;
    const status = { ...event.status, message: { ...message, messageId } };
    return { ...event, status: stale ? { ...status, state: 'working' } : status };
  };
}

/**
 * Returns whether an artifact from a server of this dialect is the output of a running call, not a part of the agent's
 * answer.
 */
export function isCoderAgentOutput(artifactId: string): boolean {
  return /^tool-.+-output$/.test(artifactId);
}
