/** Tool calls: how far they are, what they ask, what became of them, and what a person answers. */
import * as z from 'zod';
import { isObject } from '../../base/index.ts';
import { Id } from '../message.ts';
import { message, oneOf, Struct } from './message.ts';

export const ToolCallStatus = z.enum([
  'STATUS_UNSPECIFIED',
  'PENDING',
  'EXECUTING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
]);
export type ToolCallStatus = z.infer<typeof ToolCallStatus>;

/** A file before and after. */
export const FileDiff = message({
  file_name: z.string(),
  /** Absolute. */
  file_path: z.string(),
  /** Absent when there is no such file yet. */
  old_content: z.string().optional(),
  new_content: z.string(),
  /** Ready to be shown. */
  formatted_diff: z.string().optional(),
});
export type FileDiff = z.infer<typeof FileDiff>;

/** What a tool that succeeded has to show. */
export const ToolOutput = message({
  text: z.string().optional(),
  diff: FileDiff.optional(),
  structured_data: Struct.optional(),
}).check(oneOf('exactly', ['text', 'diff', 'structured_data']));
export type ToolOutput = z.infer<typeof ToolOutput>;

export const ErrorDetails = message({
  /** For people. */
  message: z.string(),
  /** For programs: `read_content_failure`, `mcp_tool_error`. */
  type: z.string().optional(),
  status_code: z.int32().optional(),
});
export type ErrorDetails = z.infer<typeof ErrorDetails>;

/** One of the answers to choose from. */
export const ConfirmationOption = message({
  /** `proceed_once`, `cancel`. */
  id: Id,
  name: z.string(),
  description: z.string().optional(),
});
export type ConfirmationOption = z.infer<typeof ConfirmationOption>;

export const ExecuteDetails = message({
  command: z.string(),
  working_directory: z.string().optional(),
});
export type ExecuteDetails = z.infer<typeof ExecuteDetails>;

export const McpDetails = message({ server_name: z.string(), tool_name: z.string() });
export type McpDetails = z.infer<typeof McpDetails>;

export const GenericDetails = message({ description: z.string() });
export type GenericDetails = z.infer<typeof GenericDetails>;

/** What a person is asked before the call is made. */
export const ConfirmationRequest = message({
  options: z.array(ConfirmationOption).min(1).max(32),
  execute_details: ExecuteDetails.optional(),
  file_edit_details: FileDiff.optional(),
  mcp_details: McpDetails.optional(),
  generic_details: GenericDetails.optional(),
}).check(
  oneOf('exactly', ['execute_details', 'file_edit_details', 'mcp_details', 'generic_details']),
);
export type ConfirmationRequest = z.infer<typeof ConfirmationRequest>;

/** A call as it stands. It is sent whole each time, so a reader needs nothing but the last one. */
export const ToolCall = message({
  tool_call_id: Id,
  status: ToolCallStatus,
  tool_name: z.string(),
  /** One line for people. */
  description: z.string().optional(),
  input_parameters: Struct,
  /** What a running tool has printed so far; replaced whole each time. */
  live_content: z.string().optional(),
  output: ToolOutput.optional(),
  error: ErrorDetails.optional(),
  /** Only while the call is pending and somebody has to allow it. */
  confirmation_request: ConfirmationRequest.optional(),
  /** Parley's: names this request, so that an answer to an earlier one is not taken for its own. */
  correlationId: Id.optional(),
  /** Parley's: the helper that calls, where it is not the agent itself. */
  agent: z.string().optional(),
})
  .check(oneOf('at most', ['output', 'error']))
  .check(({ value: call, issues }) => {
    const complain = (field: string, message: string): void => {
      issues.push({ code: 'custom', input: call, path: [field], message });
    };
    const { status } = call;
    // A call that nobody allowed may say why; one that went well has nothing to explain.
    if ((call.output !== undefined) !== (status === 'SUCCEEDED')) {
      complain('output', 'there when the status is SUCCEEDED, and only then');
    }
    if (call.error === undefined ? status === 'FAILED' : !/^(FAILED|CANCELLED)$/.test(status)) {
      complain('error', 'there when the status is FAILED, and otherwise only when CANCELLED');
    }
    if (call.confirmation_request !== undefined && status !== 'PENDING') {
      complain('confirmation_request', 'only there while the status is PENDING');
    }
  });
export type ToolCall = z.infer<typeof ToolCall>;

export const ModifiedFileDetails = message({ new_content: z.string() });
export type ModifiedFileDetails = z.infer<typeof ModifiedFileDetails>;

/** A person's answer to a ConfirmationRequest. */
export const ToolCallConfirmation = message({
  tool_call_id: Id,
  /** The id of one of the request's options. */
  selected_option_id: Id,
  /** What is to be written instead; the only kind of `modified_details` there is. */
  file_details: ModifiedFileDetails.optional(),
  /** Parley's: must be the request's, where it is there. */
  correlationId: Id.optional(),
  /** Parley's: of a call that is declined, why; the model hears it. */
  reason: z.string().max(4096).optional(),
});
export type ToolCallConfirmation = z.infer<typeof ToolCallConfirmation>;

/** The ids of confirmation options that clients treat specially. */
export const OPTION = {
  /** Runs the call once. Questions that a tool asks do not have it. */
  once: 'proceed_once',
  cancel: 'cancel',
  /** Writes other content than proposed; requires `file_details`. */
  modify: 'modify',
  /** The answer is the person's next message. */
  words: 'answer',
} as const;

/** Whether a data part is meant as a confirmation. It may still be invalid. */
export function looksLikeConfirmation(data: unknown): boolean {
  return isObject(data) && 'tool_call_id' in data && 'selected_option_id' in data;
}

/** Whether the call waits for a person's answer. */
export function isAwaitingAnswer({ status, confirmation_request }: ToolCall): boolean {
  return status === 'PENDING' && confirmation_request !== undefined;
}

/** Whether the call offers an option, by its id. */
export function hasOption({ confirmation_request: request }: ToolCall, id: string): boolean {
  return request?.options.some((option) => option.id === id) ?? false;
}

/** Whether the call has its final status. */
export function hasEnded({ status }: ToolCall): boolean {
  return status === 'SUCCEEDED' || status === 'FAILED' || status === 'CANCELLED';
}
