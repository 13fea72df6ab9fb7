/** The texts of a tool call: its title, its status, and the part of its result that is shown. */
import type { FileDiff, ToolCall } from '../protocol/development-tool/index.ts';
import { isQuestion, type CallEntry } from './state/entry.ts';
import { cleanLine, revealsLine } from './text/clean.ts';
import type { Tone } from './text/spans.ts';

/** The tool name of a command that the person at this display ran. */
export const OWN_COMMAND = 'own_command';
/** Tools that run a command. If the output of such a tool is long, its end is shown. */
const COMMANDS: ReadonlySet<string> = new Set(['run_shell_command', OWN_COMMAND]);

/** The text for a call that waits until the calls before it have ended. */
export const WAITS = 'waiting for its turn';

export interface CallStatus {
  /** A symbol, or undefined while the call starts or runs. Each display has its own symbol for such a call. */
  readonly sign: string | undefined;
  readonly word: string;
  readonly tone: Tone;
}

const STATUSES: Partial<Record<ToolCall['status'], CallStatus>> = {
  SUCCEEDED: { sign: '✓', word: 'done', tone: 'good' },
  FAILED: { sign: '✗', word: 'failed', tone: 'bad' },
  CANCELLED: { sign: '⊘', word: 'declined', tone: 'warning' },
};
const STARTING: CallStatus = { sign: undefined, word: 'starting', tone: 'accent' };
const RUNNING: CallStatus = { sign: undefined, word: 'running', tone: 'accent' };

export function statusOfCall({ call, stopped, decision }: CallEntry): CallStatus {
  if (stopped === true || call.error?.type === 'stopped') {
    return { sign: '⊘', word: 'stopped', tone: 'dim' };
  }
  if (call.status !== 'PENDING') return STATUSES[call.status] ?? RUNNING;
  if (!call.confirmation_request) return { sign: '·', word: WAITS, tone: 'dim' };
  return decision ? STARTING : { sign: '?', word: 'waiting for an answer', tone: 'warning' };
}

/** Returns the title of a call in the history. For a question of several lines, the title is its first line. */
export function titleInHistory(entry: CallEntry): string {
  const { call } = entry;
  if (!isForm(entry)) return titleOf(call);
  return `${revealsLine(call.description?.trim().split('\n', 1)[0] ?? '')} …`;
}

/** Returns a title of one line for the call. */
export function titleOf(call: ToolCall): string {
  const told = revealsLine(call.description ?? '');
  if (told !== '') return told;
  const args = revealsLine(JSON.stringify(call.input_parameters));
  const name = revealsLine(call.tool_name);
  return args === '{}' ? name : `${name} ${args}`;
}

/** Returns the title of the dialog that asks about the call. */
export function titleOfRequest(entry: CallEntry): string {
  if (isQuestion(entry)) return 'Question';
  const mcp = entry.call.confirmation_request?.mcp_details;
  return mcp ? revealsLine(`${mcp.tool_name} of ${mcp.server_name}`) : titleOf(entry.call);
}

/**
 * Returns whether the call is a question of several lines, for example a form of an MCP server. Its dialog shows all
 * lines.
 */
function isForm(entry: CallEntry): boolean {
  const { tool_name: name, description = '' } = entry.call;
  return (name === 'elicitation' || isQuestion(entry)) && description.trim().includes('\n');
}

/** The result of a call. `summary` is shown beside the title. */
export type CallBody =
  | { readonly kind: 'diff'; readonly diff: FileDiff }
  | {
      readonly kind: 'live' | 'text' | 'data';
      /** Untrusted text, which the display must clean. */
      readonly text: string;
      readonly tone: Tone;
      /** Which end of a long text is shown. */
      readonly keep: 'first' | 'last';
      readonly summary?: string;
    };

/** Returns the result of a call, or undefined if there is nothing to show. */
export function bodyOfCall({ call, decision }: CallEntry): CallBody | undefined {
  const { output, error, live_content: live, status } = call;
  // The entry already shows that the person declined the call, and why.
  if (decision && error?.type === 'declined') return undefined;
  if (status === 'EXECUTING' && live !== undefined) {
    return { kind: 'live', text: live, tone: 'dim', keep: 'last' };
  }
  if (error && (error.type === 'exit_code' || error.type === 'timeout')) {
    // The first line of the message describes how the command ended. The other lines are the output of the command. Its
    // end usually contains the reason for the failure.
    const [end = '', ...rest] = error.message.split('\n');
    const text = rest.join('\n');
    return { kind: 'text', text, tone: 'dim', keep: 'last', summary: cleanLine(end) };
  }
  if (error) {
    const tone = status === 'FAILED' ? 'bad' : 'dim';
    return { kind: 'text', text: error.message, tone, keep: 'first' };
  }
  if (output?.diff) return { kind: 'diff', diff: output.diff };
  if (output?.text !== undefined) {
    const keep = COMMANDS.has(call.tool_name) ? 'last' : 'first';
    return { kind: 'text', text: output.text, tone: 'dim', keep };
  }
  if (!output?.structured_data) return undefined;
  const text = JSON.stringify(output.structured_data);
  return { kind: 'data', text, tone: 'dim', keep: 'first' };
}
