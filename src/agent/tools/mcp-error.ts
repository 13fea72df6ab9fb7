import { ToolError, type ToolErrorType } from '../tool-error.ts';

/** The reason why an MCP server failed. */
export type McpErrorCode =
  /** The tool reported an error, or the server refused the request. */
  | 'tool'
  /** The server cannot be reached, or the connection was lost. */
  | 'unreachable'
  | 'timeout'
  /** The server's response is invalid or too large. */
  | 'invalid'
  | 'closed';

const TYPES: Readonly<Record<McpErrorCode, ToolErrorType>> = {
  tool: 'tool_error',
  unreachable: 'network',
  timeout: 'timeout',
  invalid: 'tool_error',
  closed: 'network',
};

/** The error of an MCP server. The message is for the model and the operator. */
export class McpError extends ToolError {
  override readonly name = 'McpError';
  readonly code: McpErrorCode;

  constructor(code: McpErrorCode, message: string, cause?: unknown) {
    super(TYPES[code], message, { cause });
    this.code = code;
  }
}
