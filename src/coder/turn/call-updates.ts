/** Functions of the presenter for the updates of calls. */
import type { FunctionResponsePart } from '../../agent/index.ts';
import { isObject, type JsonValue } from '../../base/index.ts';
import {
  ToolOutput,
  type ErrorDetails,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';

/** The error of a call whose result is lost. */
export const UNKNOWN: ErrorDetails = {
  message: 'outcome unknown: the call was interrupted',
  type: 'outcome_unknown',
};

/** Returns the call without its confirmation request. */
export function announced(call: ToolCall): ToolCall {
  const { confirmation_request: _, correlationId: __, ...rest } = call;
  return rest;
}

/** Returns the call without the data that is shown only until the call ends. */
export function quiet(call: ToolCall): ToolCall {
  const { live_content: _, ...rest } = announced(call);
  return rest;
}

/**
 * Minimum time between two updates of a running call's output: LIVE_MS, or LIVE_SHARE of the time since the first
 * update if this is longer. Updates are limited, because each update stays in the task's log. The shell reports its
 * output slightly less often, so its reports are usually not skipped.
 */
const LIVE_MS = 100;
const LIVE_SHARE = 1 / 60;

/** Decides when a running call is shown again. */
export class LivePace {
  /** For each running call: when new output was first shown, and when it was last shown. */
  readonly #shown = new Map<string, { readonly since: number; readonly last: number }>();

  /** Returns whether a call should be shown again, because its output is new and enough time has passed. */
  isDue({ tool_call_id: id, live_content }: ToolCall, live: string | undefined): boolean {
    if (live === undefined || live === live_content) return false;
    const now = performance.now();
    const { since, last } = this.#shown.get(id) ?? { since: now, last: -Infinity };
    if (now - last < Math.max(LIVE_MS, (now - since) * LIVE_SHARE)) return false;
    this.#shown.set(id, { since, last: now });
    return true;
  }

  end(id: string): void {
    this.#shown.delete(id);
  }
}

/**
 * Returns the output of a running tool: text, or the progress that an MCP server reports. Returns undefined for any
 * other value.
 */
export function liveContent(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (!isObject(value)) return undefined;
  const { message, progress, total } = value;
  if (typeof message === 'string') return message;
  if (typeof progress !== 'number') return undefined;
  return typeof total === 'number' ? `${progress} of ${total}` : String(progress);
}

/** Returns the response for a call whose helper ended without reporting the outcome of the call. */
export function unreported(
  { tool_call_id: id, tool_name: name }: ToolCall,
  { error = { type: 'stopped' } }: FunctionResponsePart,
): FunctionResponsePart {
  const response =
    error.type === 'outcome_unknown'
      ? 'outcome unknown: the process ended while this call was being made'
      : 'stopped: the helper ended before this call did';
  return { kind: 'function-response', id, name, response, isError: true, error };
}

export function callError({ response, error, display }: FunctionResponsePart): ErrorDetails {
  return {
    message: textFor(typeof display === 'string' ? display : response),
    type: error?.type ?? 'tool_error',
    ...(error?.statusCode !== undefined && { status_code: error.statusCode }),
  };
}

export function outputOf({ response, display }: FunctionResponsePart): ToolOutput {
  const shown = ToolOutput.safeParse(display);
  if (shown.success) return shown.data;
  return isObject(response) ? { structured_data: { ...response } } : { text: textFor(response) };
}

function textFor(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
