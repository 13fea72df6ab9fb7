/**
 * The tools of MCP servers behind the policy. A server that is away leaves its tools out; it stops nothing. One that
 * says nothing is waited for once; from then on its tools are there when it has answered.
 */
import { raceAbort, type JsonObject } from '../../base/index.ts';
import { type Tool, type Toolset, mcpToolset, type McpServerConfig } from '../../agent/index.ts';
import type { McpServers } from '../../protocol/development-tool/index.ts';
import { guarded, type GuardOptions } from '../approval/guard.ts';
import type { CoderTool } from '../tools/tool.ts';

/** How long a turn waits for a server that starts. */
const PATIENCE_MS = 10_000;
/** And for one that was late before. */
const GLANCE_MS = 100;

export interface McpToolsOptions {
  readonly guard: GuardOptions;
  /** Where programs are started that name no folder. */
  readonly cwd: string;
  /** Servers that a client has named. Where the settings have one of the same name, that one is used. */
  readonly clients?: McpServers | undefined;
  /** How addresses are reached that a client has named. */
  readonly guardedFetch?: typeof fetch;
  /** Must not throw. */
  readonly warn: (server: string, problem: string) => void;
  /** How long the first look at a server may take; ten seconds unless told. */
  readonly patienceMs?: number;
}

export interface McpTools extends Toolset {
  /** What each server offers, or why it offers nothing. */
  status(signal: AbortSignal): Promise<readonly McpStatus[]>;
  close(): Promise<void>;
}

export interface McpStatus {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly problem?: string;
}

export function mcpTools(servers: McpServers, options: McpToolsOptions): McpTools {
  const { clients = {}, guardedFetch, patienceMs = PATIENCE_MS } = options;
  const all = [
    ...Object.entries(servers).map(([name, server]) => ({ name, server, fetch: undefined })),
    // A rule that allows a server of the settings must not come to mean another one.
    ...Object.entries(clients)
      .filter(([name]) => !Object.hasOwn(servers, name))
      .map(([name, server]) => ({ name, server, fetch: guardedFetch })),
  ];
  const sets = all
    .filter(({ server }) => server.disabled !== true)
    .map(({ name, server, fetch }) => {
      const set = openServer(name, server, fetch, options);
      return { name, set, look: patiently(set, patienceMs) };
    });

  async function status(signal: AbortSignal): Promise<McpStatus[]> {
    return Promise.all(
      sets.map(async ({ name, look }): Promise<McpStatus> => {
        try {
          const found = await look(signal);
          const tools = found.map((tool) => guarded(described(name, tool), options.guard));
          return { name, tools };
        } catch (error) {
          signal.throwIfAborted();
          const problem = error instanceof Error ? error.message : String(error);
          options.warn(name, problem);
          return { name, tools: [], problem };
        }
      }),
    );
  }

  return {
    name: 'mcp',
    status,
    tools: async (signal) => (await status(signal)).flatMap(({ tools }) => tools),
    async close() {
      await Promise.all(sets.map(({ set }) => set.close()));
    },
  };
}

/** Asks for the tools, and goes on asking when nobody waits for the answer any more. */
function patiently(set: Toolset, patienceMs: number): Toolset['tools'] {
  let asked: Promise<readonly Tool[]> | undefined;
  let late = false;
  return async (signal) => {
    // Closing the server ends it.
    const unending = new AbortController().signal;
    asked ??= Promise.resolve(set.tools(unending)).finally(() => (asked = undefined));
    const patience = AbortSignal.timeout(late ? GLANCE_MS : patienceMs);
    try {
      const found = await raceAbort(asked, AbortSignal.any([signal, patience]));
      late = false;
      return found;
    } catch (error) {
      signal.throwIfAborted();
      if (!patience.aborted) throw error;
      late = true;
      throw new Error('it has not answered yet; its tools are left out until it has', {
        cause: error,
      });
    }
  };
}

function openServer(
  name: string,
  server: McpServers[string],
  fetch: McpToolsOptions['guardedFetch'],
  options: McpToolsOptions,
) {
  const { command, args, env, cwd = options.cwd, url, headers, timeoutMs } = server;
  const log = (line: string): void => options.warn(name, line);
  const place: McpServerConfig =
    command !== undefined
      ? { name, command, cwd, ...(args && { args }), ...(env && { env }) }
      : {
          name,
          url: url ?? '',
          ...(headers && { headers }),
          ...(fetch && { fetch }),
        };
  return mcpToolset(place, { log, ...(timeoutMs !== undefined && { callTimeoutMs: timeoutMs }) });
}

function described(server: string, tool: Tool): CoderTool {
  const own = tool.name.slice(`${server}__`.length);
  return {
    ...tool,
    effect: 'network',
    describe: (args: JsonObject) => `${own} of ${server} ${shortened(JSON.stringify(args))}`,
    preview: () => ({ kind: 'mcp', server, tool: own }),
  };
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
