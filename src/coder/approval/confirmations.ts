/**
 * What a person is asked about a call and what they say to it, as the development-tool extension has it.
 *
 * A question of the framework carries the request in its `detail`, an answer carries the choice in its `value`. Which
 * calls wait, and who has decided the others, is read from the task: it is in its history, so every process and every
 * client that joins late sees the same.
 */
import { type JsonObject, type JsonValue, isObject } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import type { Answer, Question } from '../../agent/index.ts';
import {
  ConfirmationRequest,
  EventSource,
  looksLikeConfirmation,
  ToolCall,
  ToolCallConfirmation,
  type ConfirmationOption,
  messagesOf,
} from '../../protocol/development-tool/index.ts';
import {
  A2AError,
  parseWith,
  SOURCE_KEY,
  textOf,
  type Message,
  type Task,
} from '../../protocol/index.ts';
import { optionsFor, type CallToApprove } from './options.ts';
import type { Preview } from '../tools/tool.ts';
import { meansYes } from './words.ts';

/** What a question is about, in its `detail`. */
export interface AskDetail {
  readonly request: ConfirmationRequest;
  readonly correlationId: string;
  /** What the files were that the preview is about. */
  readonly fingerprint?: string;
  /** Who asks, where it is a helper of the agent. */
  readonly helper?: string;
}

export function detailFor(call: CallToApprove): JsonObject {
  const { preview } = call;
  const request: ConfirmationRequest = { options: optionsFor(call), ...detailsOf(preview) };
  const fingerprint = preview.kind === 'edit' ? preview.fingerprint : undefined;
  return {
    request,
    correlationId: randomUUIDv7(),
    ...(fingerprint !== undefined && { fingerprint }),
  };
}

function detailsOf(preview: Preview): Omit<ConfirmationRequest, 'options'> {
  switch (preview.kind) {
    case 'execute': {
      const { command, workingDirectory: working_directory } = preview;
      return { execute_details: { command, working_directory } };
    }
    case 'edit': {
      const [only, ...others] = preview.diffs;
      if (only && others.length === 0) return { file_edit_details: only };
      const files = preview.diffs.map(
        ({ file_path, formatted_diff }) => formatted_diff ?? file_path,
      );
      return { generic_details: { description: files.join('\n') } };
    }
    case 'mcp':
      return { mcp_details: { server_name: preview.server, tool_name: preview.tool } };
    default:
      return { generic_details: { description: preview.description } };
  }
}

/** Of a question that a tool asks in its own words: its options, or an answer in free text. */
const FREE_TEXT: ConfirmationOption = { id: 'answer', name: 'Answer in a message' };
const CANCEL: ConfirmationOption = { id: 'cancel', name: 'Do not answer' };

/** The request that belongs to a question. */
export function askDetail(question: Question): AskDetail {
  const own = readDetail(question.detail);
  if (own) return own;
  // A helper's question comes inside the question of the call that it works for.
  const inner = isObject(question.detail) ? question.detail : {};
  const asker: unknown = inner['agent'];
  const helper = typeof asker === 'string' && { helper: asker };
  const passedOn = readDetail(inner['detail']);
  if (passedOn) return { ...passedOn, ...helper };
  const chosen = (question.options ?? []).map((name) => ({ id: name.slice(0, 256), name }));
  const options = [...(chosen.length > 0 ? chosen.slice(0, 31) : [FREE_TEXT]), CANCEL];
  const generic_details = { description: question.text };
  return { request: { options, generic_details }, correlationId: question.id, ...helper };
}

function readDetail(detail: unknown): AskDetail | undefined {
  if (!isObject(detail)) return undefined;
  const { correlationId, fingerprint } = detail;
  const request = ConfirmationRequest.safeParse(detail['request']);
  if (!request.success || typeof correlationId !== 'string') return undefined;
  return {
    request: request.data,
    correlationId,
    ...(typeof fingerprint === 'string' && { fingerprint }),
  };
}

/** The confirmations in a message; throws for one that is not as the extension has it. */
export function confirmationsIn({ parts }: Message): ToolCallConfirmation[] {
  const found: ToolCallConfirmation[] = [];
  for (const part of parts) {
    if (part.kind !== 'data' || !looksLikeConfirmation(part.data)) continue;
    found.push(parseWith(ToolCallConfirmation, part.data, 'ToolCallConfirmation'));
  }
  return found;
}

/** The answer that a confirmation is, to its question. */
export function answerFor(question: Question, confirmation: ToolCallConfirmation): Answer {
  const { selected_option_id, file_details, reason } = confirmation;
  const questionId = question.id;
  if (question.kind !== 'confirmation') {
    if (selected_option_id !== CANCEL.id) return { questionId, value: selected_option_id };
    return { questionId, value: reason ?? 'The person gave no answer.' };
  }
  if (selected_option_id === CANCEL.id) {
    return { questionId, confirmed: false, ...(reason !== undefined && { value: reason }) };
  }
  const { fingerprint } = askDetail(question);
  const value: JsonValue = {
    selected_option_id,
    ...(fingerprint !== undefined && { fingerprint }),
    ...(file_details && { new_content: file_details.new_content }),
  };
  return { questionId, confirmed: true, value };
}

export function chosenOption(answer: Answer | undefined): string | undefined {
  const value = answer?.value;
  if (!isObject(value)) return undefined;
  const id: unknown = value['selected_option_id'];
  return typeof id === 'string' ? id : undefined;
}

/** How a call was settled, and by whom. */
export interface Resolution {
  readonly by: string;
  /** The choice; of words, the one that they come to. */
  readonly confirmation: ToolCallConfirmation;
  /** What was said, where nothing was chosen. */
  readonly words?: string;
}

/** The calls of a task, by id, as its history has them last; and those that somebody has decided. */
export interface Standing {
  readonly calls: ReadonlyMap<string, ToolCall>;
  readonly resolved: ReadonlyMap<string, Resolution>;
}

export function standingOf(task: Task): Standing {
  const calls = new Map<string, ToolCall>();
  const resolved = new Map<string, Resolution>();
  for (const message of messagesOf(task)) {
    if (message.role === 'user') noteAnswers(message, calls, resolved);
    else noteCalls(message, calls, resolved);
  }
  return { calls, resolved };
}

function noteCalls(
  { parts }: Message,
  calls: Map<string, ToolCall>,
  resolved: Map<string, Resolution>,
): void {
  for (const part of parts) {
    if (part.kind !== 'data' || !isObject(part.data) || !('tool_call_id' in part.data)) continue;
    const call = ToolCall.safeParse(part.data);
    if (!call.success) continue;
    const before = calls.get(call.data.tool_call_id);
    calls.set(call.data.tool_call_id, call.data);
    // Asked anew, by another request: what was said to the one before does not count for it.
    const again = before?.correlationId !== call.data.correlationId;
    if (call.data.confirmation_request && again) resolved.delete(call.data.tool_call_id);
  }
}

function noteAnswers(
  message: Message,
  calls: ReadonlyMap<string, ToolCall>,
  resolved: Map<string, Resolution>,
): void {
  const by = speakerOf(message);
  let chooses = false;
  for (const part of message.parts) {
    if (part.kind !== 'data') continue;
    const said = ToolCallConfirmation.safeParse(part.data);
    if (!said.success) continue;
    chooses = true;
    const confirmation = said.data;
    if (resolved.has(confirmation.tool_call_id)) continue;
    resolved.set(confirmation.tool_call_id, { by, confirmation });
  }
  const words = textOf(message.parts);
  // A command says nothing to what waits.
  if (chooses || words.startsWith('/')) return;
  // Words answer all that waits.
  for (const [tool_call_id, { status, confirmation_request: asked }] of calls) {
    if (status !== 'PENDING' || !asked || resolved.has(tool_call_id)) continue;
    const selected_option_id = meantBy(words, asked);
    resolved.set(tool_call_id, { by, confirmation: { tool_call_id, selected_option_id }, words });
  }
}

/** The choice that words come to. */
function meantBy(words: string, { options }: ConfirmationRequest): string {
  if (!options.some(({ id }) => id === 'proceed_once')) return FREE_TEXT.id;
  return meansYes(words) ? 'proceed_once' : CANCEL.id;
}

/** Who said it, as the server has noted it in the message. */
function speakerOf({ metadata }: Message): string {
  const source = EventSource.safeParse(metadata?.[SOURCE_KEY]);
  return source.success ? (source.data.name ?? source.data.client) : 'another client';
}

/** Refuses a confirmation that cannot be taken: of an unknown call, a settled one, with a wrong choice. */
export function checkConfirmation(confirmation: ToolCallConfirmation, standing: Standing): void {
  const { tool_call_id: id, selected_option_id: option, correlationId } = confirmation;
  const call = standing.calls.get(id);
  if (!call) throw new A2AError('invalidParams', `tool_call_id: there is no call ${id}`);
  const resolution = standing.resolved.get(id);
  if (resolution) throw alreadyResolved(resolution);
  if (call.status !== 'PENDING' || !call.confirmation_request) {
    throw new A2AError('unsupportedOperation', `The call ${id} does not wait for an answer`, {
      info: { toolCallId: id, status: call.status },
    });
  }
  if (correlationId !== undefined && correlationId !== call.correlationId) {
    throw new A2AError('invalidParams', 'correlationId: this is not the request that waits');
  }
  const { options } = call.confirmation_request;
  if (!options.some((each) => each.id === option)) {
    const ids = options.map((each) => each.id).join(', ');
    throw new A2AError('invalidParams', `selected_option_id: there are ${ids}`);
  }
  if (option === 'modify' && !confirmation.file_details) {
    throw new A2AError('invalidParams', 'file_details: to modify is to say what is written');
  }
}

export function alreadyResolved({ by, confirmation }: Resolution): A2AError {
  const option = confirmation.selected_option_id;
  return new A2AError('unsupportedOperation', `already resolved by ${by}: ${option}`, {
    reason: 'ALREADY_RESOLVED',
    info: { resolvedBy: by, selectedOptionId: option },
  });
}
