/**
 * The transports to an MCP server: a program's standard input and output, Streamable HTTP, and the older HTTP with
 * SSE (protocol version 2024-11-05). All transports limit the size of a message.
 */
import type { AuthProvider, Transport } from '@modelcontextprotocol/client';
import { limitBody, optionalPackage } from '../../base/index.ts';

const NEW_LINE = 10;
const CARRIAGE_RETURN = 13;
/** Maximum size of one message from a server. */
const MAX_MESSAGE_BYTES = 16 * 2 ** 20;
/**
 * Maximum number of HTTP requests to a server that the server has not answered yet. When a server sends an MCP request,
 * the client sends its response in a new HTTP request. So without the limit, a server could make this program open any
 * number of connections.
 */
const MAX_UNANSWERED = 500;
const MAX_LOG_LINE = 4_000;
const BEARER = 'Bearer ';

/** An MCP server that is a program. The program is started when it is needed, and ended when the toolset is closed. */
export interface McpCommand {
  /** The prefix of the names of the server's tools. */
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  /**
   * Environment variables for the program, in addition to a few standard variables (PATH, HOME, …). The program gets
   * no other variables, so it does not see the keys of this process.
   */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Supplies the token for the requests to an MCP server. */
export interface McpAuthorization {
  /** Returns the token for one request, or undefined to send the request without a token. */
  token(): Promise<string | undefined>;
  /**
   * Called when the server has refused a request. `refused` is the token of this request, or undefined if it had none.
   * Must get a new token, or reject if this is not possible.
   */
  onUnauthorized(refused: string | undefined): Promise<void>;
}

/** An MCP server that is already running and is reached by HTTP. */
export interface McpUrl {
  readonly name: string;
  readonly url: string | URL;
  /**
   * `sse` to use only the older transport, HTTP with SSE. By default, the older transport is used only if the server
   * refuses Streamable HTTP.
   */
  readonly type?: 'sse';
  readonly headers?: Readonly<Record<string, string>>;
  /** The token for the requests. It overrides an `Authorization` header. */
  readonly authorization?: McpAuthorization;
  readonly fetch?: typeof fetch;
}

/** The way to reach an MCP server: a command or a URL. */
export type McpServerConfig = McpCommand | McpUrl;

/**
 * Loads the MCP client library. Only users of MCP servers have to install it.
 *
 * @internal
 */
export function mcpLibrary() {
  return optionalPackage(
    '@modelcontextprotocol/client',
    'An MCP server',
    () => import('@modelcontextprotocol/client'),
  );
}

export interface TransportEvents {
  /** Called for each line of the program's stderr. */
  readonly log: (line: string) => void;
  /** Called when the server has sent a message that is too large, or has left too many requests unanswered. */
  readonly overflow: (reason: string) => void;
}

export type TransportKind = 'stdio' | 'http' | 'sse';

/** Returns the transports to try, in order. */
export function transportKinds(server: McpServerConfig): readonly TransportKind[] {
  if (!('url' in server)) return ['stdio'];
  return server.type === 'sse' ? ['sse'] : ['http', 'sse'];
}

/**
 * Returns whether a server that answers `initialize` with this HTTP status may support only the older transport (MCP
 * 2025-11-25, "Backwards Compatibility").
 */
export function isLegacyServer(status: number | undefined): boolean {
  return status === 400 || status === 404 || status === 405;
}

/**
 * Creates the transport. The MCP client opens it when it connects. Loads the MCP client library at the first call.
 *
 * @internal
 */
export async function openTransport(
  server: McpServerConfig,
  kind: TransportKind,
  events: TransportEvents,
): Promise<{ readonly transport: Transport; readonly end?: () => Promise<void> }> {
  if ('url' in server) {
    const { StreamableHTTPClientTransport, SSEClientTransport } = await mcpLibrary();
    const url = new URL(server.url);
    const limited = limitMessages(server.fetch ?? fetch, events.overflow);
    const options = {
      requestInit: { headers: { ...server.headers } },
      fetch: limited,
      ...(server.authorization && authorized(server.authorization, limited)),
    };
    if (kind === 'sse') return { transport: new SSEClientTransport(url, options) };
    const transport = new StreamableHTTPClientTransport(url, options);
    return { transport, end: () => transport.terminateSession() };
  }
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const { command, args, env, cwd } = server;
  const transport = new StdioClientTransport({
    command,
    stderr: 'pipe',
    maxBufferSize: MAX_MESSAGE_BYTES,
    ...(args && { args: [...args] }),
    ...(env && { env: { ...env } }),
    ...(cwd !== undefined && { cwd }),
  });
  const log = lines(events.log);
  transport.stderr?.on('data', (chunk) => log.take(chunk)).on('end', () => log.end());
  return { transport };
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Returns the client's options for requests with a token. Concurrent requests may have different tokens, and the client
 * does not report which token was refused. So `fetch` remembers the token of each response.
 */
function authorized(
  authorization: McpAuthorization,
  fetchIt: Fetch,
): { readonly fetch: Fetch; readonly authProvider: AuthProvider } {
  const tokens = new WeakMap<Response, string>();
  return {
    async fetch(url, init) {
      const response = await fetchIt(url, init);
      const sent = new Headers(init?.headers).get('authorization');
      if (sent?.startsWith(BEARER)) tokens.set(response, sent.slice(BEARER.length));
      return response;
    },
    authProvider: {
      token: () => authorization.token(),
      onUnauthorized: ({ response }) => authorization.onUnauthorized(tokens.get(response)),
    },
  };
}

/**
 * Splits the output of a program into lines, and cuts each line to MAX_LOG_LINE characters. A longer line that arrives
 * in several chunks may be logged as several lines.
 */
function lines(log: (line: string) => void) {
  const decoder = new TextDecoder();
  let begun = '';
  const end = (): void => {
    if (begun !== '') log(begun.slice(0, MAX_LOG_LINE));
    begun = '';
  };
  return {
    take(chunk: Uint8Array): void {
      const found = (begun + decoder.decode(chunk, { stream: true })).split('\n');
      begun = found.pop() ?? '';
      for (const line of found) log(line.slice(0, MAX_LOG_LINE));
      if (begun.length > MAX_LOG_LINE) end();
    },
    end,
  };
}

/**
 * Returns a `fetch` that fails and calls `overflow` if a message is too large or if too many requests are unanswered.
 * In an event stream, each event is one message, even if its data has many lines.
 */
function limitMessages(fetchIt: typeof fetch, overflow: (reason: string) => void): Fetch {
  let unanswered = 0;
  return async (url, init) => {
    if (unanswered >= MAX_UNANSWERED) {
      const reason = `it has not answered ${MAX_UNANSWERED} requests`;
      overflow(reason);
      throw new Error(reason);
    }
    unanswered += 1;
    const response = await fetchIt(url, init).finally(() => (unanswered -= 1));
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const afterEvent = eventEnds();
    let bytes = 0;
    return limitBody(response, (chunk) => {
      bytes += chunk.length;
      if (bytes > MAX_MESSAGE_BYTES) {
        const reason = `it sent a message of more than ${MAX_MESSAGE_BYTES} bytes`;
        overflow(reason);
        throw new Error(reason);
      }
      if (isStream) bytes = afterEvent(chunk) ?? bytes;
    });
  };
}

/**
 * Returns a function that searches each chunk of a stream for the ends of events, which are empty lines. The function
 * returns the number of bytes after the last end, or undefined if no event ends in the chunk.
 */
function eventEnds(): (chunk: Uint8Array) => number | undefined {
  let isEmpty = true;
  return (chunk) => {
    let rest: number | undefined;
    let start = 0;
    for (let end; (end = chunk.indexOf(NEW_LINE, start)) >= 0; start = end + 1) {
      if (isEmpty && hasNoText(chunk, start, end)) rest = chunk.length - end - 1;
      isEmpty = true;
    }
    isEmpty &&= hasNoText(chunk, start, chunk.length);
    return rest;
  };
}

/** Returns whether the range is empty or contains only a carriage return. */
function hasNoText(chunk: Uint8Array, start: number, end: number): boolean {
  return end === start || (end === start + 1 && chunk[start] === CARRIAGE_RETURN);
}
