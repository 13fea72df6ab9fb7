/** Writes a tool call in the dialect of gemini-cli's a2a-server (protocol/development-tool/coder-agent.ts reads it). */
import { defined } from '../../base/index.ts';
import {
  callDetails,
  detailText,
  isAwaitingAnswer,
  type CoderAgentStatus,
  type FileDiff,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';

const STATUS: Readonly<Record<ToolCall['status'], CoderAgentStatus>> = {
  STATUS_UNSPECIFIED: 'scheduled',
  PENDING: 'scheduled',
  EXECUTING: 'executing',
  SUCCEEDED: 'success',
  FAILED: 'error',
  CANCELLED: 'cancelled',
};

/** Returns the data of the part that shows the call. */
export function coderAgentCall(call: ToolCall): Record<string, unknown> {
  const { tool_call_id: callId, tool_name: name, live_content: liveOutput } = call;
  const { description, parentToolCallId: parentCallId } = call;
  const waits = isAwaitingAnswer(call);
  const response = responseOf(call);
  return {
    request: {
      callId,
      name,
      args: call.input_parameters,
      isClientInitiated: false,
      ...defined({ parentCallId }),
    },
    status: waits ? 'awaiting_approval' : STATUS[call.status],
    ...(waits && { confirmationDetails: detailsOf(call) }),
    ...defined({ liveOutput, response }),
    tool: { name, displayName: name, ...defined({ description }) },
  };
}

/**
 * Returns the details that a person has to see before they approve the call. gemini-cli has fixed options for each type
 * of call. Parley adds the actual options of this call, so that a client can offer them.
 */
function detailsOf(call: ToolCall): Record<string, unknown> {
  const { confirmation_request: request, description, tool_name } = call;
  const title = description ?? tool_name;
  const about = { title, options: request?.options };
  if (request?.file_edit_details) {
    return { type: 'edit', ...about, ...diffOf(request.file_edit_details), isModifying: false };
  }
  if (request?.execute_details) {
    const { command, working_directory: workingDirectory } = request.execute_details;
    const rootCommand = command.trim().split(/\s/, 1)[0];
    return { type: 'exec', ...about, command, rootCommand, ...defined({ workingDirectory }) };
  }
  if (request?.mcp_details) {
    const { server_name: serverName, tool_name: toolName } = request.mcp_details;
    const tool = { serverName, toolName, toolDisplayName: toolName };
    return { type: 'mcp', ...about, ...tool, toolArgs: call.input_parameters };
  }
  return { type: 'info', ...about, prompt: detailText(callDetails(call)) };
}

function diffOf({ file_name, file_path, old_content, new_content, formatted_diff }: FileDiff) {
  return {
    fileName: file_name,
    filePath: file_path,
    fileDiff: formatted_diff ?? '',
    originalContent: old_content ?? null,
    newContent: new_content,
  };
}

/**
 * Returns the result of a call that has an output or an error, or was cancelled. Returns undefined for any other call.
 */
function responseOf(call: ToolCall): Record<string, unknown> | undefined {
  const { tool_call_id: id, tool_name: name, output, error, status } = call;
  if (!output && !error && status !== 'CANCELLED') return undefined;
  const text = output?.text ?? (output?.structured_data && JSON.stringify(output.structured_data));
  const shown = output?.diff ? diffOf(output.diff) : (text ?? error?.message ?? '');
  const told = output ? { output: text ?? output.diff?.formatted_diff ?? '' } : { error: shown };
  return {
    callId: id,
    responseParts: [{ functionResponse: { id, name, response: told } }],
    resultDisplay: shown,
    ...(error && { error: { message: error.message }, ...defined({ errorType: error.type }) }),
  };
}
