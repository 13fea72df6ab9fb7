/**
 * The tools of an MCP server, started as a program or reached by streamable HTTP.
 *
 *   const files = mcpToolset({ name: 'files', command: 'npx', args: ['some-mcp-server', '/data'] });
 *   const agent = llmAgent({ name: 'helper', tools: [files] });
 *
 * Nothing is started or loaded before the tools are asked for. Names are `SERVER__TOOL`. What a server says is data
 * from outside: its lists, descriptions and results are bounded, and its hints are hints.
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
/** Tools that are read so that those wanted may be among them. */
const MAX_LISTED = 2_000;
const MAX_DESCRIPTION_LENGTH = 4_000;
/** Characters of one tool's JSON Schema. */
const MAX_SCHEMA_LENGTH = 50_000;

/** The options of `mcpToolset`. */
export interface McpOptions {
  /** Only these of the server's tools, by its own names for them. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /**
   * Which calls a person has to allow: none unless told; `all`; `writes`, those of tools that do not say that they
   * only read (the server says so itself, so choose it only for servers that are trusted); or as the function says.
   */
  readonly confirm?:
    | 'all'
    | 'writes'
    | ((
        tool: { readonly name: string; readonly readOnly: boolean; readonly destructive: boolean },
        args: JsonObject,
      ) => MaybePromise<boolean | ToolConfirmation>);
  /** Until the server is ready (30,000 unless told). */
  readonly connectTimeoutMs?: number;
  /** Until a call has its answer, or shows progress (120,000 unless told). */
  readonly callTimeoutMs?: number;
  /** From a failed connection to the next attempt, doubled each time (500 unless told). */
  readonly retryDelayMs?: number;
  /** At most so many tools are offered, the first ones (250 unless told). */
  readonly maxTools?: number;
  /** What the program writes to stderr, and what was left out of its list, line by line. Must not throw. */
  readonly log?: (line: string) => void;
}

/** The tools of an MCP server. Close it to end the program. */
export function mcpToolset(
  server: McpServerConfig,
  options: McpOptions = {},
): Toolset & { close(): Promise<void> } {
  const { log, include, maxTools = MAX_TOOLS } = options;
  const excluded = new Set(options.exclude);
  /** Goes up when the tools may not be the same any more. */
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
        log?.(`${server.name}: the schema of ${elide(name, 80)} is too large, it is left out`);
      } else if (tools.length === maxTools) {
        log?.(`${server.name}: of ${wanted.size} tools, the first ${maxTools} are offered`);
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
