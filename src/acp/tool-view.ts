/** Converts tool calls to ACP's form: kind, status, locations and content. */
import { resolve } from 'node:path';
import type {
  ToolCallContent,
  ToolCallLocation,
  ToolCallStatus,
  ToolKind,
} from '@agentclientprotocol/sdk';
import { defined, reveal } from '../base/index.ts';
import {
  argumentText,
  callDetails,
  detailText,
  type CallDetail,
  type FileDiff,
  type ToolCall,
} from '../protocol/development-tool/index.ts';
import type { FilePart } from '../protocol/index.ts';
import { headerNotes } from '../protocol/schema-free/index.ts';
import { blockFrom } from './content.ts';

/** The fields that `tool_call`, `tool_call_update` and `session/request_permission` share. */
export type ToolView = ReturnType<typeof toolView>;

const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_directory: 'read',
  glob: 'search',
  search: 'search',
  write_file: 'edit',
  edit: 'edit',
  apply_patch: 'edit',
  run_shell_command: 'execute',
  shell_jobs: 'execute',
  fetch_url: 'fetch',
  web_search: 'fetch',
  todo: 'think',
  task: 'think',
};

const STATUSES: Readonly<Record<ToolCall['status'], ToolCallStatus>> = {
  STATUS_UNSPECIFIED: 'pending',
  PENDING: 'pending',
  EXECUTING: 'in_progress',
  SUCCEEDED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'failed',
};

/** The kinds of calls whose output is not Markdown. Their output is put in a code block. */
const VERBATIM: ReadonlySet<ToolKind> = new Set(['read', 'search', 'execute', 'fetch', 'edit']);
/** Tools whose `path` argument is a single file. */
const OF_ONE_FILE: ReadonlySet<string> = new Set(['read_file', 'write_file', 'edit']);

/** Returns a tool call in ACP's form. `files` are the files that the call has returned, for example images. */
export function toolView(
  call: ToolCall,
  workspace: string,
  files: readonly FilePart['file'][] = [],
) {
  const { tool_name: name, agent, description } = call;
  const kind = KINDS[name] ?? 'other';
  const rawOutput = outputOf(call);
  const what = description ?? name;
  return {
    toolCallId: call.tool_call_id,
    title: agent === undefined ? what : `${agent}: ${what}`,
    name,
    kind,
    status: STATUSES[call.status],
    content: [...contentOf(call, kind), ...files.flatMap(imageOf)],
    locations: locationsOf(call, workspace),
    rawInput: call.input_parameters,
    ...(rawOutput !== undefined && { rawOutput }),
  };
}

function contentOf(call: ToolCall, kind: ToolKind): ToolCallContent[] {
  const { output, error, live_content: live } = call;
  // The output of a failed command is in the error.
  if (error) return [kind === 'execute' ? verbatim(error.message) : words(error.message)];
  if (output?.diff) return diffOf(output.diff);
  if (output?.text !== undefined) {
    if (!VERBATIM.has(kind)) return [words(output.text)];
    return [verbatim(output.text, kind === 'edit' ? 'diff' : '')];
  }
  if (output?.structured_data) {
    return [verbatim(JSON.stringify(output.structured_data, undefined, 2), 'json')];
  }
  // The output of a running command so far. Each update replaces the previous content.
  if (live !== undefined) return [verbatim(live)];
  return callDetails(call).flatMap(detailContent);
}

function imageOf(file: FilePart['file']): ToolCallContent[] {
  const content = blockFrom({ kind: 'file', file });
  return content ? [{ type: 'content', content }] : [];
}

/** Returns the content that describes the effect of a call, for its permission request. */
function detailContent(detail: CallDetail): ToolCallContent[] {
  switch (detail.kind) {
    case 'change':
      return diffOf(detail.diff);
    case 'command':
      return [verbatim(reveal(detail.command), 'sh')];
    case 'patch':
      return [verbatim(reveal(detail.text), 'diff')];
    case 'argument': {
      const { text, block } = argumentText(detail.value);
      return [words(`${reveal(detail.name)}:`), verbatim(text, block ? '' : 'json')];
    }
    default:
      return [words(detailText([detail]))];
  }
}

/**
 * Returns a change as content. ACP's diff has only the file's contents. A text before the diff shows other changes, for
 * example of the file mode.
 */
function diffOf(diff: FileDiff): ToolCallContent[] {
  const { file_path, old_content, new_content, formatted_diff } = diff;
  const notes = headerNotes(formatted_diff);
  return [
    ...(notes.length > 0 ? [verbatim(reveal(notes.join('\n')), 'diff')] : []),
    { type: 'diff', path: file_path, oldText: old_content ?? null, newText: new_content },
  ];
}

function words(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } };
}

/** Returns a code block whose fence is longer than every fence in the text. */
function verbatim(text: string, language = ''): ToolCallContent {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((length, run) => Math.max(length, run.length + 1), 3));
  const end = text.endsWith('\n') || text === '' ? '' : '\n';
  return words(`${fence}${language}\n${text}${end}${fence}`);
}

function outputOf({ output, error }: ToolCall): unknown {
  if (error) {
    const { message, type, status_code: statusCode } = error;
    return { error: message, ...defined({ type, statusCode }) };
  }
  // A diff is left out here, because `content` already has it.
  return (
    output?.structured_data ?? (output?.text === undefined ? undefined : { text: output.text })
  );
}

function locationsOf(call: ToolCall, workspace: string): ToolCallLocation[] {
  const diff = call.output?.diff ?? call.confirmation_request?.file_edit_details;
  if (diff) return [{ path: diff.file_path }];
  const { path, offset } = call.input_parameters;
  if (!OF_ONE_FILE.has(call.tool_name) || typeof path !== 'string') return [];
  return [{ path: resolve(workspace, path), ...(typeof offset === 'number' && { line: offset }) }];
}
