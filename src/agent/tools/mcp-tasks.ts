/**
 * Calls of tools that run only as tasks (MCP 2025-11-25, "Tasks"). The server answers at once with a task. The client
 * polls the status of the task, and requests the result when the task has ended. If the task needs input, the client
 * requests the result before the task has ended. The server sends its requests for input only while the request for the
 * result is open.
 */
import { pause, type JsonObject } from '../../base/index.ts';
import type {
  CallToolResult,
  Client,
  ServerCapabilities,
  Task,
  Tool,
} from '@modelcontextprotocol/client';
import { McpError } from './mcp-error.ts';
import type { McpCallOptions } from './mcp-requests.ts';
import { mcpLibrary } from './mcp-transport.ts';

const MIN_POLL_MS = 100;
const MAX_POLL_MS = 10_000;
const DEFAULT_POLL_MS = 1_000;
/** Time for which the server should keep the task and its result. */
const KEEP_MS = 60 * 60_000;
const CANCEL_TIMEOUT_MS = 5_000;

/** Returns whether the tool must be called as a task: the tool requires this, and the server supports it. */
export function needsTask(tool: Tool, capabilities: ServerCapabilities | undefined): boolean {
  const isOffered = capabilities?.tasks?.requests?.tools?.call !== undefined;
  return isOffered && tool.execution?.taskSupport === 'required';
}

interface TaskCall {
  readonly name: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
  readonly timeout: number;
}

export async function callAsTask(
  client: Client,
  { name, args, signal, timeout }: TaskCall,
  call: McpCallOptions,
): Promise<CallToolResult> {
  const { specTypeSchemas } = await mcpLibrary();
  const latest = performance.now() + timeout;
  /**
   * Returns the options of a request. The request must end within the time that is left for the call. Because a timer
   * may fire almost 1 ms early, 1 ms is added. This ensures that a request times out only after the time of the call is
   * over.
   */
  const options = () => ({
    signal,
    timeout: Math.max(0, Math.ceil(latest - performance.now())) + 1,
  });
  const params = { name, arguments: args, task: { ttl: KEEP_MS } };
  const { task: created } = await client.request(
    { method: 'tools/call', params },
    specTypeSchemas.CreateTaskResult,
    options(),
  );
  const { taskId } = created;
  call.begun(taskId);
  try {
    let task: Task = created;
    let said = '';
    for (let reports = 1; task.status === 'working';) {
      if (performance.now() > latest) {
        throw new McpError('timeout', `the task has not ended within ${timeout} ms`);
      }
      const { statusMessage = '' } = task;
      if (statusMessage !== said) {
        said = statusMessage;
        call.onProgress({ progress: reports++, message: said });
      }
      const { pollInterval = DEFAULT_POLL_MS } = task;
      await pause(Math.min(Math.max(pollInterval, MIN_POLL_MS), MAX_POLL_MS), signal);
      task = await client.request(
        { method: 'tasks/get', params: { taskId } },
        specTypeSchemas.GetTaskResult,
        options(),
      );
      // The server has answered, so the timeout restarts even if the task reports no progress.
      call.begun(taskId);
    }
    if (task.status === 'cancelled') throw new McpError('tool', 'the server canceled the call');
    // The server responds when the task has ended. Until then, it sends its requests for input.
    return await client.request(
      { method: 'tasks/result', params: { taskId } },
      specTypeSchemas.CallToolResult,
      options(),
    );
  } catch (error) {
    if (signal.aborted || performance.now() >= latest) {
      const request = { method: 'tasks/cancel', params: { taskId } };
      const schema = specTypeSchemas.CancelTaskResult;
      client.request(request, schema, { timeout: CANCEL_TIMEOUT_MS }).catch(() => undefined);
    }
    throw error;
  }
}
