/**
 * The details that a person must see before they approve a call. If the call changes files, these are the diffs. For
 * any other call, the first detail is the command, the MCP tool or the text of the request. Then come the arguments
 * that the first detail does not contain. Every display of a confirmation request uses these details.
 */
import { reveal } from '../../base/index.ts';
import type { Json } from './message.ts';
import type { FileDiff, ToolCall } from './tool-call.ts';

/** Maximum length of an object or array that is shown as JSON on one line. Longer JSON is indented. */
const MAX_SHORT = 60;

export type CallDetail =
  | { readonly kind: 'command'; readonly command: string; readonly folder: string | undefined }
  | { readonly kind: 'change'; readonly diff: FileDiff }
  /** The diffs of several files, as text. */
  | { readonly kind: 'patch'; readonly text: string }
  | { readonly kind: 'mcp'; readonly tool: string; readonly server: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'argument'; readonly name: string; readonly value: Json };

type RequestedCall = Pick<ToolCall, 'tool_name' | 'input_parameters' | 'confirmation_request'>;

/** The tool that changes several files. Its confirmation request describes the changes as text. */
const PATCH_TOOL = 'apply_patch';
/** The tools that ask the person a question. The text of their request already contains all arguments. */
const QUESTION_TOOLS: ReadonlySet<string> = new Set(['ask_user', 'elicitation']);

export function callDetails(call: RequestedCall): CallDetail[] {
  const { confirmation_request: request, tool_name: tool, input_parameters: args } = call;
  if (!request) return [];
  const { execute_details: execute, file_edit_details: diff, mcp_details: mcp } = request;
  if (diff) return [{ kind: 'change', diff }];
  if (execute) {
    const { command, working_directory: folder } = execute;
    const others = argumentsOf(args, (name, value) => name === 'command' && value === command);
    return [{ kind: 'command', command, folder }, ...others];
  }
  if (mcp) {
    const { tool_name, server_name } = mcp;
    return [{ kind: 'mcp', tool: tool_name, server: server_name }, ...argumentsOf(args)];
  }
  const text = request.generic_details?.description ?? '';
  if (tool === PATCH_TOOL) return [{ kind: 'patch', text }];
  const isShown = (_name: string, value: Json): boolean =>
    QUESTION_TOOLS.has(tool) || (typeof value === 'string' && endsWith(text, value));
  return [{ kind: 'text', text }, ...argumentsOf(args, isShown)];
}

/**
 * Returns whether the text is the value, or ends with whitespace and the value. So a value that is only the end of a
 * longer word does not count.
 */
function endsWith(text: string, value: string): boolean {
  return text === value || (/\s/.test(text.at(-value.length - 1) ?? '') && text.endsWith(value));
}

function argumentsOf(
  args: ToolCall['input_parameters'],
  isShown: (name: string, value: Json) => boolean = () => false,
): CallDetail[] {
  return Object.entries(args)
    .filter(([name, value]) => !isShown(name, value))
    .map(([name, value]) => ({ kind: 'argument', name, value }));
}

/**
 * Returns the value of an argument as text for people. A text of several lines is returned as it is, and every other
 * value as JSON. Invisible characters are made visible.
 */
export function argumentText(value: Json): { readonly text: string; readonly block: boolean } {
  const block = typeof value === 'string' && value.includes('\n');
  const short = JSON.stringify(value);
  const text = block
    ? value
    : short.length <= MAX_SHORT
      ? short
      : JSON.stringify(value, undefined, 2);
  return { text: reveal(text), block };
}

/**
 * Returns the question about a call as plain text. It begins with the description of the call or, without one, the name
 * of the tool. The details follow.
 */
export function callText(call: RequestedCall & Pick<ToolCall, 'description'>): string {
  const title = reveal(call.description ?? call.tool_name);
  const details = detailText(callDetails(call));
  return details === '' || details === title ? title : `${title}\n${details}`;
}

/** Returns the details as plain text. */
export function detailText(details: readonly CallDetail[]): string {
  return details.map(textOfDetail).join('\n');
}

function textOfDetail(detail: CallDetail): string {
  switch (detail.kind) {
    case 'command':
      return reveal(detail.command);
    case 'change':
      return reveal(detail.diff.formatted_diff ?? detail.diff.file_path);
    case 'mcp':
      return `${reveal(detail.tool)} (MCP server ${reveal(detail.server)})`;
    case 'argument': {
      const { text, block } = argumentText(detail.value);
      // The bar at the start of each line shows where the text ends, so that the text cannot imitate another
      // argument.
      return `${reveal(detail.name)}:${block ? `\n${text.replaceAll(/^/gm, '| ')}` : ` ${text}`}`;
    }
    default:
      return reveal(detail.text);
  }
}
