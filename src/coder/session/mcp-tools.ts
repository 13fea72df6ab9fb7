/**
 * The tools, prompts and resources of MCP servers. The approval policy applies to tool calls. It also applies to
 * resources, because a tool reads them. If a server is unavailable, the agent works without this server. The first turn
 * waits up to TIMEOUT_MS for a server that is slow to start. Later turns use its tools as soon as it has answered.
 */
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cutText, raceAbort, reasonOf, rest, shorten, type JsonObject } from '../../base/index.ts';
import {
  type McpPrompt,
  type McpResource,
  type McpRoot,
  type McpServerConfig,
  type McpServerTool,
  type McpToolset,
  mcpToolset,
  type SaveMcpFile,
  type Tool,
  type Toolset,
} from '../../agent/index.ts';
import { toolPrefix } from '../../agent/internal/index.ts';
import type { McpServers } from '../../protocol/development-tool/index.ts';
import { guarded, type GuardOptions } from '../approval/guard.ts';
import { expandVariables } from '../settings/expand-variables.ts';
import type { CoderTool } from '../tools/tool.ts';
import { storedAuthorization, type LoginPlace } from './mcp-logins.ts';
import type { ToolCallRequest } from './opening-calls.ts';
import { notices, type Notify } from './notices.ts';

/** Maximum time that a turn waits for a server that is starting. */
const TIMEOUT_MS = 10_000;
/** Maximum time that a turn waits for a server that timed out in an earlier turn. */
const RETRY_TIMEOUT_MS = 100;
/** Maximum length of the instructions of one server, and of all servers together, in characters. */
const MAX_INSTRUCTIONS = 4_000;
const MAX_ALL_INSTRUCTIONS = 16_000;
/** If the prompts of a server change while they are read, they are read again after this delay. */
const REREAD_MS = 100;
const NOT_YET = 'the server has not answered yet; its tools are left out until it does';

export interface McpToolsOptions {
  readonly guard: GuardOptions;
  /** The working folder of servers that are started as programs and have no `cwd` of their own. */
  readonly cwd: string;
  /**
   * The MCP servers of a client. If the settings have a server with the same name, the server in the settings is used.
   */
  readonly clients?: McpServers | undefined;
  /** The `fetch` function for addresses that a client specifies. */
  readonly guardedFetch?: typeof fetch;
  /** Returns the tool that lets a server use the model. */
  readonly sampling?: (server: string) => Tool;
  /** Called with each line that a server writes to its log. Must not throw. */
  readonly log: (server: string, line: string) => void;
  /** Called when a server becomes unavailable, and when it is available again. Must not throw. */
  readonly notify: Notify;
  /** Called when the prompts of a server have changed. Must not throw. */
  readonly promptsChanged?: () => void;
  /** Saves a file that a server has sent. Not called for images that are passed on to the model. */
  readonly saveFile?: SaveMcpFile;
  /** The place where logins to servers in the settings are stored. If undefined, no login is used. */
  readonly logins?: LoginPlace;
  /**
   * Maximum time to wait for a server in the first turn, and for the server's prompts and resources, in milliseconds.
   * Default: TIMEOUT_MS.
   */
  readonly timeoutMs?: number;
}

export type McpTools = ReturnType<typeof mcpTools>;

/** The tools of a server, or the problem if its tools are not available. */
interface McpStatus {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly problem?: string;
}

/** The status of a server, with its prompts and resources. */
export interface McpOverview extends McpStatus {
  readonly prompts: readonly McpPrompt[];
  readonly resources: readonly McpResource[];
}

export function mcpTools(servers: McpServers, options: McpToolsOptions) {
  const { clients = {}, guardedFetch, timeoutMs = TIMEOUT_MS } = options;
  const all = [
    ...Object.entries(servers).map(([name, server]) => ({ name, server, own: true })),
    // A client's server with the name of a server in the settings is left out. Otherwise, a rule that allows the server
    // in the settings would also apply to the client's server.
    ...Object.entries(clients)
      .filter(([name]) => !Object.hasOwn(servers, name))
      .map(([name, server]) => ({ name, server, own: false })),
  ];
  const clashes = clashesOf(all.map(({ name }) => name));
  const sets = all
    .filter(({ server }) => server.disabled !== true)
    .map(({ name, server, own }) => {
      const fetch = own ? undefined : guardedFetch;
      const listChanged = (): void => void readPrompts(name, set);
      const set: McpToolset =
        clashes.get(name) ?? openServer(name, server, { ...options, own, fetch, listChanged });
      return { name, own, set, look: withTimeout(set, timeoutMs) };
    });
  /** The prompts of each server that has answered. */
  const prompts = new Map<string, readonly McpPrompt[]>();
  /** The servers whose prompts are being read. `again` is true if the prompts may have changed since the request. */
  const reads = new Map<string, { again: boolean; done: Promise<void> }>();
  const closing = new AbortController();
  /** The names of the servers that were reported as unavailable. */
  const reported = new Set<string>();

  function report(name: string, own: boolean, problem: string | undefined): void {
    if (closing.signal.aborted || reported.has(name) === (problem !== undefined)) return;
    if (problem === undefined) {
      reported.delete(name);
      options.notify(notices.mcpAvailable(name));
    } else {
      reported.add(name);
      options.notify(notices.mcpUnavailable(name, problem, own));
    }
  }

  /**
   * Reads the prompts of a server, and calls `promptsChanged` if they have changed. Sends one request at a time, even
   * if the server reports several changes. Never rejects.
   */
  function readPrompts(name: string, set: McpToolset): Promise<void> {
    const running = reads.get(name);
    if (running) {
      running.again = true;
      return running.done;
    }
    const read = { again: false, done: Promise.resolve() };
    const repeat = async (): Promise<void> => {
      await readNow(name, set);
      while (read.again && !closing.signal.aborted) {
        read.again = false;
        await rest(REREAD_MS, closing.signal);
        await readNow(name, set);
      }
    };
    reads.set(name, read);
    return (read.done = repeat().finally(() => reads.delete(name)));
  }

  async function readNow(name: string, set: McpToolset): Promise<void> {
    try {
      const found = await set.prompts(closing.signal);
      const before = prompts.get(name);
      if (closing.signal.aborted || before === found) return;
      prompts.set(name, found);
      if (before || found.length > 0) options.promptsChanged?.();
    } catch (error) {
      if (closing.signal.aborted) return;
      options.log(name, `its prompts cannot be listed: ${reasonOf(error)}`);
    }
  }

  async function status(signal: AbortSignal): Promise<McpStatus[]> {
    return Promise.all(
      sets.map(async ({ name, own, set, look }): Promise<McpStatus> => {
        try {
          const found = await look.tools(signal);
          report(name, own, undefined);
          void readPrompts(name, set);
          const tools = found.map((tool) => guarded(described(name, tool), options.guard));
          return { name, tools };
        } catch (error) {
          signal.throwIfAborted();
          const problem = reasonOf(error);
          report(name, own, problem);
          return { name, tools: [], problem };
        }
      }),
    );
  }

  return {
    name: 'mcp',
    /** Connects to the servers in the background, so that unavailable servers are reported before the first turn. */
    connect() {
      for (const { name, own, set, look } of sets) {
        look.first(closing.signal, (problem) => {
          report(name, own, problem);
          if (problem === undefined) void readPrompts(name, set);
        });
      }
    },
    status,
    /** Returns the prompts that are known so far. */
    prompts: () =>
      sets.flatMap(({ name: server }) =>
        (prompts.get(server) ?? []).map((prompt) => ({ server, prompt })),
      ),
    /**
     * Waits until the prompts of the server are known. Stops waiting after the timeout, or if the server is
     * unavailable. Never rejects.
     */
    async awaitPrompts(server: string): Promise<void> {
      const found = sets.find(({ name }) => name === server);
      if (!found || prompts.has(server)) return;
      const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]);
      await found.look.tools(limit).then(
        () => raceAbort(readPrompts(server, found.set), limit).catch(() => {}),
        () => {},
      );
    },
    async overview(signal: AbortSignal): Promise<McpOverview[]> {
      const found = await status(signal);
      const detailed = async (server: McpStatus): Promise<McpOverview> => {
        const set = sets.find(({ name }) => name === server.name)?.set;
        if (!set || server.problem !== undefined) return { ...server, prompts: [], resources: [] };
        const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
        const [resources] = await Promise.all([
          raceAbort(set.resources(limit), limit).catch(() => []),
          raceAbort(readPrompts(server.name, set), limit).catch(() => {}),
        ]);
        signal.throwIfAborted();
        return { ...server, prompts: prompts.get(server.name) ?? [], resources };
      };
      return Promise.all(found.map(detailed));
    },
    /**
     * Returns the instructions of the connected servers about their use, for the system instruction of the model.
     * Returns undefined if there are none.
     */
    instructions() {
      const said = sets.flatMap(({ name, set }) => {
        const text = set.instructions()?.trim() ?? '';
        return text === '' ? [] : [`## ${name}\n\n${cutText(text, MAX_INSTRUCTIONS)}`];
      });
      return said.length === 0 ? undefined : cutText(said.join('\n\n'), MAX_ALL_INSTRUCTIONS);
    },
    /**
     * Returns the call that reads the resource in a mention `SERVER:URI`. Returns undefined if the mention has another
     * form, or if the server is unknown, unavailable or has no resources.
     */
    async resourceCall(mention: string, signal: AbortSignal): Promise<ToolCallRequest | undefined> {
      const [, server, uri] = /^([^:/]+):([a-z][\w+.-]*:.+)$/i.exec(mention) ?? [];
      const found = sets.find(({ name }) => name === server);
      if (!found || uri === undefined) return undefined;
      const tools = await found.look.tools(signal).catch(() => []);
      const reader = tools.find(({ fullName }) => fullName === `${server}__read_resource`);
      return reader && { name: reader.name, args: { uri } };
    },
    tools: async (signal: AbortSignal) => (await status(signal)).flatMap(({ tools }) => tools),
    async cancel(...call: Parameters<NonNullable<Toolset['cancel']>>): Promise<void> {
      await Promise.all(sets.map(async ({ set }) => set.cancel?.(...call)));
    },
    async close(): Promise<void> {
      closing.abort();
      await Promise.all(sets.map(({ set }) => set.close()));
    },
  };
}

/**
 * Returns the servers that cannot be used, because their tool names have the same prefix as the tool names of an
 * earlier server or of sampling requests. If both were used, a rule or permission for one of them would also apply to
 * the other one. A disabled server also occupies its prefix, because there may be permissions for its tools.
 */
function clashesOf(names: readonly string[]): ReadonlyMap<string, McpToolset> {
  const clashes = new Map<string, McpToolset>();
  const taken = new Map([[toolPrefix('mcp_sampling'), 'sampling requests']]);
  for (const name of names) {
    const prefix = toolPrefix(name);
    const other = taken.get(prefix);
    if (other === undefined) taken.set(prefix, `the server ${name}`);
    else {
      const problem = `the names of its tools would begin with ${prefix}, like those of ${other}; rename this server`;
      clashes.set(name, unusable(name, new Error(problem)));
    }
  }
  return clashes;
}

/** Connects to each enabled server once, and returns the number of its tools or the problem. */
export async function probeMcp(
  servers: McpServers,
  { cwd, logins }: { readonly cwd: string; readonly logins: LoginPlace },
) {
  const clashes = clashesOf(Object.keys(servers));
  const enabled = Object.entries(servers).filter(([, { disabled }]) => disabled !== true);
  return Promise.all(
    enabled.map(async ([name, server]) => {
      const log = (): void => {};
      const set =
        clashes.get(name) ??
        openServer(name, server, { own: true, fetch: undefined, cwd, log, logins });
      try {
        const unending = new AbortController().signal;
        return { name, tools: (await withTimeout(set, TIMEOUT_MS).tools(unending)).length };
      } catch (error) {
        return { name, tools: 0, problem: reasonOf(error) };
      } finally {
        await set.close();
      }
    }),
  );
}

interface Look {
  /** Lists the server's tools. Rejects after the timeout. */
  tools(signal: AbortSignal): Promise<readonly McpServerTool[]>;
  /**
   * Connects to the server in the background. Calls `report` with the problem, or with undefined after a success. If
   * the server is slow, `report` is called twice: after the timeout, and when the server has answered.
   */
  first(signal: AbortSignal, report: (problem: string | undefined) => void): void;
}

/**
 * Lists a server's tools with a timeout. After a timeout the request continues, so that a later call can use its
 * result.
 */
function withTimeout(set: McpToolset, timeoutMs: number): Look {
  let asked: Promise<readonly McpServerTool[]> | undefined;
  let late = false;

  function ask(): Promise<readonly McpServerTool[]> {
    // This signal is never aborted. A request without an answer ends only when the toolset is closed.
    const unending = new AbortController().signal;
    asked ??= set.tools(unending).finally(() => (asked = undefined));
    return asked;
  }

  return {
    async tools(signal) {
      const asking = ask();
      const timeout = AbortSignal.timeout(late ? RETRY_TIMEOUT_MS : timeoutMs);
      try {
        const found = await raceAbort(asking, AbortSignal.any([signal, timeout]));
        late = false;
        return found;
      } catch (error) {
        signal.throwIfAborted();
        if (!timeout.aborted) throw error;
        late = true;
        throw new Error(NOT_YET, { cause: error });
      }
    },
    first(signal, report) {
      const slow = setTimeout(() => report(NOT_YET), timeoutMs).unref();
      signal.addEventListener('abort', () => clearTimeout(slow), { once: true });
      ask()
        .then(
          () => report(undefined),
          (error: unknown) => report(reasonOf(error)),
        )
        .finally(() => clearTimeout(slow));
    },
  };
}

interface OpenOptions extends Pick<
  McpToolsOptions,
  'cwd' | 'log' | 'saveFile' | 'logins' | 'sampling'
> {
  /** True if the server is in the settings, false if a client has specified it. */
  readonly own: boolean;
  readonly fetch: McpToolsOptions['guardedFetch'];
  readonly listChanged?: () => void;
}

function openServer(name: string, server: McpServers[string], options: OpenOptions): McpToolset {
  const { own, saveFile, listChanged } = options;
  try {
    const expanded = own ? expandVariables(server, process.env) : server;
    const { timeoutMs, includeTools, excludeTools, roots = own } = expanded;
    return mcpToolset(configOf(name, expanded, options), {
      log: (line) => options.log(name, line),
      // Calls of tools without a read-only hint run in order. A wrong hint affects only this order, not whether a call
      // needs approval.
      sequential: true,
      // A server that a client has specified does not get the path of the working folder.
      roots: own && roots ? [rootOf(options.cwd)] : undefined,
      sampling: options.sampling?.(name),
      callTimeoutMs: timeoutMs,
      include: includeTools,
      exclude: excludeTools,
      saveFile,
      listChanged,
    });
  } catch (error) {
    return unusable(name, error);
  }
}

function configOf(name: string, server: McpServers[string], options: OpenOptions): McpServerConfig {
  const { command, args, env, cwd = options.cwd, url = '', headers, type, oauth } = server;
  if (command !== undefined) return { name, command, cwd, args, env };
  // The message does not contain the URL, because the URL may contain a secret from a variable.
  if (!URL.canParse(url)) throw new Error('its url is not a URL');
  const { fetch, own, logins } = options;
  const hasToken = Object.keys(headers ?? {}).some((key) => key.toLowerCase() === 'authorization');
  const logsIn = own && logins && (oauth || !hasToken);
  const authorization = logsIn ? storedAuthorization(name, url, logins) : undefined;
  return { name, url, type, headers, fetch, authorization };
}

/** Returns a toolset for a server that cannot be used. Its requests fail with the error. */
function unusable(name: string, error: unknown): McpToolset {
  const fail = () => Promise.reject(error instanceof Error ? error : new Error(reasonOf(error)));
  return {
    name,
    tools: fail,
    prompts: fail,
    resources: fail,
    instructions: () => undefined,
    close: () => Promise.resolve(),
  };
}

function rootOf(folder: string): McpRoot {
  return { uri: pathToFileURL(folder).href, name: basename(folder) };
}

function described(server: string, tool: McpServerTool): CoderTool {
  const own = tool.fullName.slice(`${server}__`.length);
  return {
    ...tool,
    effect: 'network',
    describe: (args: JsonObject) => `${own} of ${server} ${shorten(JSON.stringify(args), 200)}`,
    preview: () => ({ kind: 'mcp', server, tool: own }),
  };
}
