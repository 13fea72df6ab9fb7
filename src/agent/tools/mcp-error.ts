/** Why an MCP server failed. */
export type McpErrorCode =
  /** The tool ran, and says that it failed; or the server refused the call. */
  | 'tool'
  /** The server is not there, or went away. */
  | 'unreachable'
  | 'timeout'
  /** What the server says is not MCP, or beyond the limits. */
  | 'invalid'
  | 'closed';

/** What went wrong with an MCP server, in one line for the model and the operator. */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly code: McpErrorCode;

  constructor(code: McpErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
  }
}
