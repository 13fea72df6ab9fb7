/**
 * What a person is asked about a call, as the development-tool extension has it.
 *
 * A question of the framework carries the confirmation request in its `detail`. So the request is stored in the
 * session's log, and every process shows the same one.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Question } from '../../agent/index.ts';
import { isObject, type JsonObject } from '../../base/index.ts';
import {
  ConfirmationRequest,
  type ConfirmationOption,
} from '../../protocol/development-tool/index.ts';
import type { Preview } from '../tools/tool.ts';
import { optionsFor, type CallToApprove } from './options.ts';

/** The confirmation request of a question. */
export interface AskedRequest {
  readonly request: ConfirmationRequest;
  readonly correlationId: string;
  /** Identifies the content of the files that the preview was made from. */
  readonly fingerprint?: string;
  /** The name of the agent that asks, if it is a helper. */
  readonly helper?: string;
}

/** The `detail` of the question whether this call may be made. */
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

/** The options of a question that a tool asks: the tool's own ones or free text, and this one. */
export const FREE_TEXT: ConfirmationOption = { id: 'answer', name: 'Answer in a message' };
export const CANCEL: ConfirmationOption = { id: 'cancel', name: 'Do not answer' };

/** The confirmation request that a question is shown as. */
export function requestOf(question: Question): AskedRequest {
  const own = readDetail(question.detail);
  if (own) return own;
  // The question of a helper is the detail of the question that its own call asks.
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

function readDetail(detail: unknown): AskedRequest | undefined {
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

/** All open questions as text, for clients that do not know the extension. One answer in words answers all of them. */
export function questionText(questions: readonly Question[]): string {
  const confirmations = questions.filter(({ kind }) => kind === 'confirmation');
  const lines = questions.map((question) =>
    question.kind === 'confirmation' ? withCall(question) : withOptions(question),
  );
  if (confirmations.length > 0) {
    const what = confirmations.length === 1 ? 'May I do this?' : 'May I do all of this?';
    lines.push(`${what} Answer yes or no, or say what to do instead.`);
  }
  return lines.join('\n\n');
}

/** Shows the call in full: a person approves only what they have seen. */
function withCall(question: Question): string {
  const { execute_details, file_edit_details, generic_details } = requestOf(question).request;
  const call =
    execute_details?.command ?? file_edit_details?.formatted_diff ?? generic_details?.description;
  return call === undefined ? question.text : `${question.text}\n${call}`;
}

function withOptions({ text, options = [] }: Question): string {
  return options.length === 0 ? text : `${text} (${options.join(', ')})`;
}
