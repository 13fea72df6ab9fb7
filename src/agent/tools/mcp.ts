/**
 * The tools, prompts and resources of an MCP server. The server is a program that is started here, or is reached by
 * HTTP.
 *
 *   const files = mcpToolset({ name: 'files', command: 'npx', args: ['some-mcp-server', '/data'] });
 *   const agent = llmAgent({ name: 'helper', tools: [files] });
 *
 * The server is started or contacted when it is first needed. Tools have names of the form `SERVER__TOOL`. A server is
 * not trusted. Its lists, descriptions and results are limited in size, and its annotations are only hints.
 */
import { defined, elide, type MaybePromise, type JsonObject } from '../../base/index.ts';
import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { Waiting, type ToolConfirmation, type Tool, type Toolset } from '../tool.ts';
import { McpCalls } from './mcp-calls.ts';
import { mcpConnection } from './mcp-connection.ts';
import { offeredNames } from './mcp-names.ts';
import { promptContent, toMcpPrompt, type McpPrompt } from './mcp-prompts.ts';
import { listResources, RESOURCE_TOOL, resourceTool, type McpResource } from './mcp-resources.ts';
import type { McpRoot, Progress } from './mcp-requests.ts';
import { readResult, type SaveMcpFile } from './mcp-result.ts';
import type { McpServerConfig } from './mcp-transport.ts';

const MAX_TOOLS = 250;
/** Maximum number of tools that are read from the server's list, before `include` and `exclude` are applied. */
const MAX_LISTED = 2_000;
const MAX_PROMPTS = 200;
const MAX_DESCRIPTION_LENGTH = 4_000;
/** Maximum length of one tool's JSON Schema, in characters. */
const MAX_SCHEMA_LENGTH = 50_000;

/**
 * A tool, as `McpOptions.confirm` gets it. The tool that lists and reads the server's resources has the name
 * `read_resource`.
 */
export interface ConfirmableTool {
  /** The name as the server lists it. */
  readonly name: string;
  readonly readOnly: boolean;
  readonly destructive: boolean;
}

/** The options of `mcpToolset`. */
export interface McpOptions {
  /** The names of the tools to offer, as the server lists them. Default: all tools. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /**
   * The calls that a person must approve. `all`: every call. `writes`: calls of tools that are not marked as
   * read-only. The server itself sets this mark, so use `writes` only with trusted servers. A function decides for
   * each call. By default, calls need no approval.
   */
  readonly confirm?:
    | 'all'
    | 'writes'
    | ((tool: ConfirmableTool, args: JsonObject) => MaybePromise<boolean | ToolConfirmation>);
  /**
   * Whether the tools that are not marked as read-only are sequential (`Tool.sequential`). Their calls then run one
   * after the other, in the order in which the model made them. By default, all calls run concurrently.
   */
  readonly sequential?: boolean;
  /** Maximum time until the server is ready, in milliseconds. Default: 30,000. */
  readonly connectTimeoutMs?: number;
  /**
   * The timeout of a call, in milliseconds. It restarts when the server sends a progress report or a request. It is
   * stopped while the server waits for the answer to such a request. A call ends after one hour in any case. For
   * requests that are not calls, such as lists of tools, this is the time limit of the whole request. Default: 120,000.
   */
  readonly callTimeoutMs?: number;
  /**
   * Delay in milliseconds after a failed attempt to connect. The delay doubles with each failed attempt, up to 30
   * seconds. Default: 500.
   */
  readonly retryDelayMs?: number;
  /**
   * Maximum number of the server's tools that are offered. If the server has more, only the first ones are offered. The
   * tool that reads resources does not count. Default: 250.
   */
  readonly maxTools?: number;
  /**
   * Saves a file that the server has sent. It is not called for an image that is passed on to the model. Returns the
   * path for the model, or undefined if the file cannot be saved. Must not throw. By default, no file is saved, and the
   * notes about files contain no paths.
   */
  readonly saveFile?: SaveMcpFile;
  /** Called when the server reports that its tools, prompts or resources have changed. Must not throw. */
  readonly listChanged?: () => void;
  /** The folders (roots) that are disclosed to the server. Default: none. */
  readonly roots?: readonly McpRoot[];
  /**
   * The tool that answers the server's requests to the model (MCP's sampling). Its `confirm` decides whether a person
   * is asked first. If the tool has no `confirm`, a person is always asked. By default, the server cannot use a model.
   */
  readonly sampling?: Tool;
  /**
   * Receives the lines of the program's stderr. Must not throw. Also receives these lines:
   *
   * - a line for each tool that is not offered because its schema is too large
   * - a line if the server has more tools than `maxTools`
   * - a line for each question of the server that is refused and not shown to a person
   */
  readonly log?: (line: string) => void;
}

/** A tool of an MCP server. */
export interface McpServerTool extends Tool {
  /**
   * `SERVER__TOOL` with the name of the server as it was given, and the name of the tool as the server lists it. In
   * `name`, some characters may be replaced.
   */
  readonly fullName: string;
}

/** The tools, prompts and resources of an MCP server. */
export interface McpToolset extends Toolset {
  tools(signal: AbortSignal): Promise<readonly McpServerTool[]>;
  /**
   * Returns the server's instructions for its use. Returns undefined before the first connection, or if the server
   * has sent no instructions.
   */
  instructions(): string | undefined;
  /** Returns at most 200 prompts of the server. */
  prompts(signal: AbortSignal): Promise<readonly McpPrompt[]>;
  /** Returns at most 500 resources and 500 templates of the server. */
  resources(signal: AbortSignal): Promise<readonly McpResource[]>;
  /** Ends the program or the HTTP session. */
  close(): Promise<void>;
}

/**
 * Returns the toolset of an MCP server. If the server has resources, the toolset contains the tool
 * `SERVER__read_resource`, which lists and reads them.
 */
export function mcpToolset(server: McpServerConfig, options: McpOptions = {}): McpToolset {
  const { log, include, maxTools = MAX_TOOLS } = options;
  const excluded = new Set(options.exclude);
  /** The version of the lists. It is incremented when the lists may have changed. */
  let edition = 0;

  /** Returns a function that caches the list that `load` returns. A new `edition` invalidates the cache. */
  function kept<List>(load: (signal: AbortSignal) => Promise<List>) {
    let last: { readonly edition: number; readonly list: List } | undefined;
    return async (signal: AbortSignal): Promise<List> => {
      const before = edition;
      if (last?.edition !== before) last = { edition: before, list: await load(signal) };
      return last.list;
    };
  }

  const callTimeoutMs = options.callTimeoutMs ?? 120_000;
  const calls = new McpCalls({
    server: server.name,
    timeoutMs: callTimeoutMs,
    sampling: options.sampling,
    log,
    call: (tool, args, call) => connection.callTool(tool, args, call),
  });
  const connection = mcpConnection(server, {
    connectTimeoutMs: options.connectTimeoutMs ?? 30_000,
    callTimeoutMs,
    requests: {
      roots: options.roots,
      elicit: (params, context) => calls.elicit(params, context),
      sample: options.sampling && ((params, context) => calls.sample(params, context)),
    },
    retryDelayMs: options.retryDelayMs ?? 500,
    log,
    changed: () => edition++,
    listChanged: () => options.listChanged?.(),
  });

  function isWanted(name: string): boolean {
    return (!include || include.includes(name)) && !excluded.has(name);
  }

  function offer(listed: readonly McpTool[]): McpServerTool[] {
    const own = listed.filter(({ name }) => isWanted(name));
    const wanted = new Map(own.map((tool) => [tool.name, tool]));
    const readsResources =
      connection.hasResources && isWanted(RESOURCE_TOOL) && !wanted.has(RESOURCE_TOOL);
    const reading = readsResources ? [RESOURCE_TOOL] : [];
    const names = offeredNames(server.name, [...wanted.keys(), ...reading]);
    const fullName = (tool: string): string => `${server.name}__${tool}`;
    const tools: McpServerTool[] = [];
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
        tools.push({ ...wrap(tool, offeredName, parameters), fullName: fullName(name) });
      }
    }
    const reader = names.get(RESOURCE_TOOL);
    if (readsResources && reader !== undefined) {
      const tool = { name: RESOURCE_TOOL, readOnly: true, destructive: false };
      const more = { save: options.saveFile, ...confirmationOf(tool) };
      const resources = resourceTool(server.name, reader, connection, more);
      tools.push({ ...resources, fullName: fullName(RESOURCE_TOOL) });
    }
    return tools;
  }

  /** Returns the method that decides whether a call of this tool must be approved. */
  function confirmationOf(tool: ConfirmableTool): Pick<Tool, 'confirm'> {
    const { confirm } = options;
    if (confirm === undefined) return {};
    if (typeof confirm === 'function') return { confirm: (args) => confirm(tool, args) };
    return { confirm: () => confirm === 'all' || !tool.readOnly };
  }

  function wrap(tool: McpTool, name: string, parameters: JsonObject): Tool {
    const readOnly = tool.annotations?.readOnlyHint === true;
    const destructive = !readOnly && tool.annotations?.destructiveHint !== false;
    return {
      name,
      description: elide(tool.description ?? tool.title ?? '', MAX_DESCRIPTION_LENGTH),
      parameters,
      ...(options.sequential === true && { sequential: !readOnly }),
      ...confirmationOf({ name: tool.name, readOnly, destructive }),
      async run(args, context) {
        const onProgress = ({ progress, total, message: said }: Progress): void => {
          const message = said === undefined ? undefined : elide(said, MAX_DESCRIPTION_LENGTH);
          context.progress({ progress, ...defined({ total, message }) });
        };
        const result = await calls.run(tool, args, context, onProgress);
        return result instanceof Waiting ? result : readResult(result, options.saveFile);
      },
      cancel: async (callId, { session }) => calls.cancel(callId, session),
    };
  }

  return {
    name: server.name,
    tools: kept(async (signal) => offer(await connection.list('tools', MAX_LISTED, signal))),
    instructions: () => connection.instructions,
    prompts: kept(async (signal) => {
      const listed = await connection.list('prompts', MAX_PROMPTS, signal);
      return listed.map((prompt) =>
        toMcpPrompt(prompt, async (args, asked) =>
          promptContent(await connection.getPrompt(prompt.name, args, asked), options.saveFile),
        ),
      );
    }),
    resources: (signal) => listResources(connection, signal),
    cancel: async (callId, { session }) => calls.cancel(callId, session),
    close: () => connection.close(),
  };
}

function schemaOf(tool: McpTool): JsonObject | undefined {
  const text = JSON.stringify(tool.inputSchema);
  return text.length > MAX_SCHEMA_LENGTH ? undefined : JSON.parse(text);
}
