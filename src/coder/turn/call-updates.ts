/** Parts of the updates of calls, for the presenter. */
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

/** Returns the call without what it shows only until it ends. */
export function quiet(call: ToolCall): ToolCall {
  const { live_content: _, ...rest } = announced(call);
  return rest;
}

/** Returns the output of a running tool: text, or the progress that an MCP server reports. */
export function liveContent(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (!isObject(value)) return undefined;
  const { message, progress, total } = value;
  if (typeof message === 'string') return message;
  if (typeof progress !== 'number') return undefined;
  return typeof total === 'number' ? `${progress} of ${total}` : String(progress);
}

/** Returns a response for a call of a helper that has ended without telling what became of the call. */
export function unreported(
  { tool_call_id: id, tool_name: name }: ToolCall,
  { error = { type: 'stopped' } }: FunctionResponsePart,
): FunctionResponsePart {
  const response =
    error.type === 'outcome_unknown'
      ? 'outcome unknown: the process ended while this call was being made'
      : 'stopped: the helper ended before this call';
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
