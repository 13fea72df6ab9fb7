/**
 * The tools of an MCP server, which is started as a program or reached by Streamable HTTP.
 *
 *   const files = mcpToolset({ name: 'files', command: 'npx', args: ['some-mcp-server', '/data'] });
 *   const agent = llmAgent({ name: 'helper', tools: [files] });
 *
 * The server is started or contacted when its tools are first needed. Tools are called `SERVER__TOOL`. A server is not
 * trusted: its lists, descriptions and results are limited in size, and its annotations are only hints.
 */
import type { MaybePromise, JsonObject } from '../../base/index.ts';
import type { Tool as McpTool } from '@modelcontextprotocol/client';
import type { ToolConfirmation, Tool, Toolset } from '../tool.ts';
import { McpConnection, type Progress } from './mcp-connection.ts';
import { offeredNames } from './mcp-names.ts';
import { readResult } from './mcp-result.ts';
import type { McpServerConfig } from './mcp-transport.ts';
import { elide } from '../tool-result.ts';

export { McpError, type McpErrorCode } from './mcp-error.ts';
export type { McpCommand, McpServerConfig, McpUrl } from './mcp-transport.ts';

const MAX_TOOLS = 250;
/** Maximum number of tools that are read from the server's list, before `include` and `exclude` are applied. */
const MAX_LISTED = 2_000;
const MAX_DESCRIPTION_LENGTH = 4_000;
/** Maximum length of one tool's JSON Schema, in characters. */
const MAX_SCHEMA_LENGTH = 50_000;

/** The options of `mcpToolset`. */
export interface McpOptions {
  /** The names of the tools to offer, as the server lists them. Default: all tools. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /**
   * Which calls a person must approve. Default: none. `all`: every call. `writes`: calls of tools that are not marked
   * as read-only. The server itself sets this mark, so use `writes` only with trusted servers. A function decides for
   * each call.
   */
  readonly confirm?:
    | 'all'
    | 'writes'
    | ((
        tool: { readonly name: string; readonly readOnly: boolean; readonly destructive: boolean },
        args: JsonObject,
      ) => MaybePromise<boolean | ToolConfirmation>);
  /**
   * Whether calls of tools that are not marked as read-only run in the order of the model's answer, and not
   * concurrently. Default: false.
   */
  readonly sequential?: boolean;
  /** Maximum time until the server is ready. Default: 30,000. */
  readonly connectTimeoutMs?: number;
  /** Maximum time until a call has a response or reports progress. Default: 120,000. */
  readonly callTimeoutMs?: number;
  /** Delay after a failed attempt to connect. It doubles each time. Default: 500. */
  readonly retryDelayMs?: number;
  /** Maximum number of offered tools. If there are more, the first ones are offered. Default: 250. */
  readonly maxTools?: number;
  /** Receives the lines of the program's stderr, and notes about tools that are not offered. Must not throw. */
  readonly log?: (line: string) => void;
}

/** Returns the tools of an MCP server. `close` ends the program or the HTTP session. */
export function mcpToolset(
  server: McpServerConfig,
  options: McpOptions = {},
): Toolset & { close(): Promise<void> } {
  const { log, include, maxTools = MAX_TOOLS } = options;
  const excluded = new Set(options.exclude);
  /** Incremented when the list of tools may have changed. */
  let edition = 0;
  let offered: { readonly edition: number; readonly tools: readonly Tool[] } | undefined;

  const connection = new McpConnection(server, {
    connectTimeoutMs: options.connectTimeoutMs ?? 30_000,
    callTimeoutMs: options.callTimeoutMs ?? 120_000,
    retryDelayMs: options.retryDelayMs ?? 500,
    log,
    changed: () => edition++,
  });

  function isWanted({ name }: McpTool): boolean {
    return (!include || include.includes(name)) && !excluded.has(name);
  }

  function offer(listed: readonly McpTool[]): Tool[] {
    const wanted = new Map(listed.filter(isWanted).map((tool) => [tool.name, tool]));
    const names = offeredNames(server.name, [...wanted.keys()]);
    const tools: Tool[] = [];
    for (const [name, tool] of wanted) {
      const parameters = schemaOf(tool);
      const offeredName = names.get(name);
      if (!parameters || offeredName === undefined) {
        log?.(
          `${server.name}: the tool ${elide(name, 80)} is not offered: its schema is too large`,
        );
      } else if (tools.length === maxTools) {
        log?.(`${server.name}: only the first ${maxTools} of ${wanted.size} tools are offered`);
        break;
      } else {
        tools.push(wrap(tool, offeredName, parameters));
      }
    }
    return tools;
  }

  function wrap(tool: McpTool, name: string, parameters: JsonObject): Tool {
    const { confirm } = options;
    const readOnly = tool.annotations?.readOnlyHint === true;
    const destructive = !readOnly && tool.annotations?.destructiveHint !== false;
    return {
      name,
      description: elide(tool.description ?? tool.title ?? '', MAX_DESCRIPTION_LENGTH),
      parameters,
      ...(options.sequential === true && { sequential: !readOnly }),
      ...(confirm !== undefined && {
        confirm: (args: JsonObject) =>
          typeof confirm === 'function'
            ? confirm({ name: tool.name, readOnly, destructive }, args)
            : confirm === 'all' || !readOnly,
      }),
      async run(args, context) {
        const onProgress = ({ progress, total, message }: Progress): void =>
          context.progress({
            progress,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message: elide(message, MAX_DESCRIPTION_LENGTH) }),
          });
        return readResult(await connection.callTool(tool, args, onProgress, context.signal));
      },
    };
  }

  return {
    name: server.name,
    async tools(signal) {
      if (offered?.edition === edition) return offered.tools;
      const before = edition;
      const listed = await connection.listTools(MAX_LISTED, signal);
      return (offered = { edition: before, tools: offer(listed) }).tools;
    },
    close: () => connection.close(),
  };
}

function schemaOf(tool: McpTool): JsonObject | undefined {
  const text = JSON.stringify(tool.inputSchema);
  return text.length > MAX_SCHEMA_LENGTH ? undefined : JSON.parse(text);
}
