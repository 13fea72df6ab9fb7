/** Tool calls, confirmation requests and their answers. */
import * as z from 'zod';
import { Id } from '../message.ts';
import { HelperMark } from './event.ts';
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

/** The content of a file before and after a change. */
export const FileDiff = message({
  file_name: z.string(),
  /** The absolute path. */
  file_path: z.string(),
  /** The content before the change, or undefined for a new file. */
  old_content: z.string().optional(),
  new_content: z.string(),
  /** The diff as text, for display. */
  formatted_diff: z.string().optional(),
});
export type FileDiff = z.infer<typeof FileDiff>;

/** A page on the web that an answer relies on (an addition of Parley). */
export const Citation = message({ url: z.string().max(4096), title: z.string().optional() });
export type Citation = z.infer<typeof Citation>;

/** The output of a successful call. */
export const ToolOutput = message({
  text: z.string().optional(),
  diff: FileDiff.optional(),
  structured_data: Struct.optional(),
  /** The pages that a web search has found (an addition of Parley). */
  citations: z.array(Citation).max(100).optional(),
}).check(oneOf('exactly', ['text', 'diff', 'structured_data']));
export type ToolOutput = z.infer<typeof ToolOutput>;

export const ErrorDetails = message({
  /** A description of the error for people. */
  message: z.string(),
  /** A code for programs, for example `read_content_failure` or `mcp_tool_error`. */
  type: z.string().optional(),
  status_code: z.int32().optional(),
});
export type ErrorDetails = z.infer<typeof ErrorDetails>;

/** An option of a confirmation request. */
export const ConfirmationOption = message({
  /** The id of the option, for example `proceed_once` or `cancel`. */
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

/** A question that a person must answer before the call runs. */
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

/** The complete state of a call. Every update contains the complete state. */
export const ToolCall = message({
  tool_call_id: Id,
  status: ToolCallStatus,
  tool_name: z.string(),
  /** A one-line description for people. */
  description: z.string().optional(),
  input_parameters: Struct,
  /** The output of the running tool so far. Each update replaces the previous output. */
  live_content: z.string().optional(),
  output: ToolOutput.optional(),
  error: ErrorDetails.optional(),
  /** The question to the person. Present only while the call waits for an answer. */
  confirmation_request: ConfirmationRequest.optional(),
  /**
   * The id of the confirmation request (an addition of Parley). An answer with the id of an earlier request is
   * refused.
   */
  correlationId: Id.optional(),
  ...HelperMark.shape,
})
  .check(oneOf('at most', ['output', 'error']))
  .check(({ value: call, issues }) => {
    const complain = (field: string, message: string): void => {
      issues.push({ code: 'custom', input: call, path: [field], message });
    };
    const { status } = call;
    if ((call.output !== undefined) !== (status === 'SUCCEEDED')) {
      complain('output', 'required when the status is SUCCEEDED, and not allowed otherwise');
    }
    // A call with the status FAILED must have an error, and a CANCELLED call may have one. With any other status, an
    // error is invalid.
    if (call.error === undefined ? status === 'FAILED' : !/^(FAILED|CANCELLED)$/.test(status)) {
      complain(
        'error',
        'required when the status is FAILED, and otherwise allowed only when CANCELLED',
      );
    }
    if (call.confirmation_request !== undefined && status !== 'PENDING') {
      complain('confirmation_request', 'allowed only while the status is PENDING');
    }
  });
export type ToolCall = z.infer<typeof ToolCall>;

export const ModifiedFileDetails = message({ new_content: z.string() });
export type ModifiedFileDetails = z.infer<typeof ModifiedFileDetails>;

/**
 * A person's answer to a ConfirmationRequest.
 *
 * In the specification, `file_details` belongs to a oneof with the name `modified_details`. In JSON, the name of a
 * oneof is not a field, but some clients send it as a field. So the content is read from both places. If both are
 * present, they must be equal.
 */
export const ToolCallConfirmation = message({
  tool_call_id: Id,
  /** The id of the chosen option. */
  selected_option_id: Id,
  /** The content to write instead of the proposed content. Only the option `modify` uses it. */
  file_details: ModifiedFileDetails.optional(),
  modified_details: z.strictObject({ file_details: ModifiedFileDetails.optional() }).optional(),
  /** The id of the confirmation request (an addition of Parley). If it is present, it must match the request. */
  correlationId: Id.optional(),
  /** The reason for declining a call (an addition of Parley). The reason is sent to the model. */
  reason: z.string().max(4096).optional(),
  /** The text for the option `answer` (an addition of Parley). The text is sent to the model. */
  answer: z.string().min(1).max(100_000).optional(),
})
  .check(({ value: { file_details: plain, modified_details: nested }, issues }) => {
    const inner = nested?.file_details;
    if (!plain || !inner || plain.new_content === inner.new_content) return;
    issues.push({
      code: 'custom',
      input: nested,
      path: ['modified_details'],
      message: 'contradicts file_details; send only one of them',
    });
  })
  .transform(({ modified_details: nested, ...confirmation }) => {
    const file_details = confirmation.file_details ?? nested?.file_details;
    return { ...confirmation, ...(file_details && { file_details }) };
  });
export type ToolCallConfirmation = z.infer<typeof ToolCallConfirmation>;
