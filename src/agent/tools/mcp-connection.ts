/**
 * The connection to an MCP server. It is opened when it is first needed, and reopened after it was lost.
 *
 * Concurrent requests share one attempt to connect. After a failed attempt, the next attempt is delayed, with
 * exponential backoff up to 30 seconds. During the delay, requests fail at once with the reason. A call is not
 * repeated on a new connection, because the server may have executed it. The only exception is a call that the server
 * refused because the session no longer existed.
 */
import { backoffMs, raceAbort, reasonOf, reveal, type JsonObject } from '../../base/index.ts';
import type {
  CallToolResult,
  Client,
  ClientOptions,
  Prompt,
  Resource,
  ResourceTemplateType,
  Tool,
} from '@modelcontextprotocol/client';
import { McpError, type McpErrorCode } from './mcp-error.ts';
import {
  answerRequests,
  capabilitiesFor,
  inCall,
  outsideCalls,
  type McpCallOptions,
  type Progress,
  type ServerRequests,
} from './mcp-requests.ts';
import { secretHider } from './mcp-secrets.ts';
import { callAsTask, needsTask } from './mcp-tasks.ts';
import {
  isLegacyServer,
  mcpLibrary,
  openTransport,
  transportKinds,
  type McpServerConfig,
  type TransportKind,
} from './mcp-transport.ts';

const CLIENT = { name: 'parley', version: '0.1.0' };
const MAX_RETRY_DELAY_MS = 30_000;
/** Maximum time to wait until a session has ended. */
const END_TIMEOUT_MS = 1_000;
/** Maximum number of pages of a list. */
const MAX_PAGES = 100;
/** Maximum duration of a call, even if it reports progress or waits for a person. */
const MAX_CALL_MS = 60 * 60_000;
/** Maximum time to determine whether a server supports MCP 2026-07-28. */
const PROBE_MS = 3_000;

export interface ConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** Delay after the first failed attempt to connect, in milliseconds. It doubles with each further failed attempt. */
  readonly retryDelayMs: number;
  readonly log: ((line: string) => void) | undefined;
  /** Called when the lists of tools, prompts and resources may have changed. */
  readonly changed: () => void;
  /** Called after `changed` if the server has reported the change. Not called when the connection was lost. */
  readonly listChanged: () => void;
  /** The functions that answer the server's requests. */
  readonly requests: ServerRequests;
}

interface AskOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

/** The entries of each list of a server. */
interface Listed {
  readonly tools: Tool;
  readonly prompts: Prompt;
  readonly resources: Resource;
  readonly resourceTemplates: ResourceTemplateType;
}

type Page<Kind extends keyof Listed> = Readonly<Record<Kind, readonly Listed[Kind][]>> & {
  readonly nextCursor?: string | undefined;
};

/** The functions that request one page of a list. */
const PAGES: {
  readonly [Kind in keyof Listed]: (
    client: Client,
    params: { cursor?: string },
    options: AskOptions,
  ) => Promise<Page<Kind>>;
} = {
  tools: (client, params, options) => client.request({ method: 'tools/list', params }, options),
  prompts: (client, params, options) => client.request({ method: 'prompts/list', params }, options),
  resources: (client, params, options) =>
    client.request({ method: 'resources/list', params }, options),
  resourceTemplates: (client, params, options) =>
    client.request({ method: 'resources/templates/list', params }, options),
};

/** The capability that a server must have for a list. Without this capability, the list is empty. */
const NEEDED: Readonly<Partial<Record<keyof Listed, 'prompts' | 'resources'>>> = {
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resources',
};

/** An open connection. */
interface Live {
  readonly client: Client;
  /** Ends the session and closes the connection or the program. Never throws. */
  readonly end: () => Promise<void>;
  /** Whether the server has answered a request. */
  worked: boolean;
}

export type McpConnection = ReturnType<typeof mcpConnection>;

/** Returns a connection to the server. The first request opens it. */
export function mcpConnection(server: McpServerConfig, options: ConnectionOptions) {
  const hide = secretHider(server);
  const closing = new AbortController();
  let current: Live | undefined;
  let connecting: Promise<Live> | undefined;
  let failures = 0;
  let nextAttempt = 0;
  let problem = '';
  let instructions: string | undefined;
  let hasResources = false;

  /** Returns at most `limit` entries of a list of the server. */
  async function list<Kind extends keyof Listed>(
    kind: Kind,
    limit: number,
    signal: AbortSignal,
  ): Promise<Listed[Kind][]> {
    const found: Listed[Kind][] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await ask('list', signal, async (client, options) => {
        const needed = NEEDED[kind];
        const has = needed === undefined || client.getServerCapabilities()?.[needed];
        return has ? PAGES[kind](client, params, options) : undefined;
      });
      const entries: Record<Kind, readonly Listed[Kind][]> | undefined = result;
      found.push(...(entries?.[kind].slice(0, limit - found.length) ?? []));
      cursor = result?.nextCursor;
      if (cursor === undefined || found.length >= limit) break;
    }
    return found;
  }

  /** Makes a call, with the timeout `MAX_CALL_MS`. A caller that needs a shorter timeout must abort the call itself. */
  function callTool(tool: Tool, args: JsonObject, call: McpCallOptions): Promise<CallToolResult> {
    // `outputSchema` is removed, so that the client does not validate the result against a schema of the server.
    const { outputSchema: _unused, ...toolDefinition } = tool;
    return ask('call', call.signal, (client, { signal }) => {
      call.begun();
      const options = { signal, timeout: MAX_CALL_MS };
      if (needsTask(tool, client.getServerCapabilities())) {
        const task = { name: tool.name, args, ...options };
        return inCall(call, () => callAsTask(client, task, call));
      }
      const onprogress = (progress: Progress): void => call.onProgress(progress);
      const params = { name: tool.name, arguments: args };
      const more = { ...options, toolDefinition, onprogress };
      return inCall(call, () => client.callTool(params, more));
    });
  }

  async function close(): Promise<void> {
    closing.abort();
    options.changed();
    const live = current ?? (await connecting?.catch(() => undefined));
    current = undefined;
    await live?.end();
  }

  async function ask<T>(
    what: 'list' | 'call',
    signal: AbortSignal,
    request: (client: Client, options: AskOptions) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const live = await connected(signal);
      try {
        const timeout = options.callTimeoutMs;
        const result = await request(live.client, { signal, timeout });
        live.worked = true;
        return result;
      } catch (error) {
        signal.throwIfAborted();
        const forgotten = statusOf(error) === 404;
        const explained = await explain(what, live, error);
        if (explained.code === 'unreachable') lost(live, wordsOf(error));
        if (!forgotten || attempt > 0) throw explained;
      }
    }
  }

  function connected(signal: AbortSignal): Promise<Live> | Live {
    signal.throwIfAborted();
    if (closing.signal.aborted) throw closed();
    if (current) return current;
    if (!connecting) {
      if (Date.now() < nextAttempt) throw down();
      connecting = outsideCalls(() => connect()).finally(() => (connecting = undefined));
      // The handler prevents an unhandled rejection if every waiting request was aborted.
      connecting.catch(() => {});
    }
    return raceAbort(connecting, signal);
  }

  async function connect(): Promise<Live> {
    const { connectTimeoutMs: timeout } = options;
    const complaint = createComplaint();
    // All transports and protocol versions that are tried share one deadline.
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeout)]);
    try {
      return (current = await connectBy(transportKinds(server), complaint, signal));
    } catch (error) {
      if (closing.signal.aborted) throw closed();
      const late = error instanceof Error && error.name === 'TimeoutError';
      failed(complaint.after(late ? `no response within ${timeout} ms` : wordsOf(error)));
      throw down();
    }
  }

  /** Connects with the first transport that the server supports. */
  async function connectBy(
    [kind, fallback]: readonly TransportKind[],
    complaint: Complaint,
    signal: AbortSignal,
  ): Promise<Live> {
    try {
      return await open(kind!, complaint, signal);
    } catch (error) {
      if (fallback === undefined || !isLegacyServer(statusOf(error))) throw error;
      // For a server that supports neither transport, the first error is more useful.
      return open(fallback, complaint, signal).catch(() => Promise.reject(error));
    }
  }

  /**
   * Opens the connection. Over Streamable HTTP, first tries MCP 2026-07-28, because newer servers can ask for input
   * only with this version. This version is not tried with a program. A program would have to be started twice, and it
   * can ask for input with the older protocol.
   */
  async function open(
    kind: TransportKind,
    complaint: Complaint,
    signal: AbortSignal,
  ): Promise<Live> {
    if (kind === 'http') {
      // The attempt uses at most half of the time, because an older server might never answer the unknown request.
      const timeoutMs = Math.min(PROBE_MS, options.connectTimeoutMs / 2);
      const versionNegotiation = { mode: 'auto', probe: { timeoutMs } } as const;
      try {
        return await openWith(kind, complaint, signal, { versionNegotiation });
      } catch (error) {
        // An older server may react to the unknown request with any error. If the error has another reason, the next
        // attempt fails too.
        if (signal.aborted) throw error;
      }
    }
    return openWith(kind, complaint, signal, {});
  }

  async function openWith(
    kind: TransportKind,
    complaint: Complaint,
    signal: AbortSignal,
    protocol: Pick<ClientOptions, 'versionNegotiation'>,
  ): Promise<Live> {
    const { connectTimeoutMs: timeout, log } = options;
    let reason = 'the connection was closed';
    const tooLarge = new AbortController();
    const { Client } = await mcpLibrary();
    const { transport, end } = await openTransport(server, kind, {
      log: (line) => {
        const shown = hide(line);
        complaint.note(reveal(shown));
        log?.(shown);
      },
      overflow: (why) => {
        reason = why;
        tooLarge.abort(new Error(why));
        lost(live, why);
      },
    });
    const onChanged = (): void => {
      options.changed();
      options.listChanged();
    };
    const listChanged = { autoRefresh: false, debounceMs: 0, onChanged };
    const client = new Client(CLIENT, {
      capabilities: capabilitiesFor(options.requests),
      listChanged: { tools: listChanged, prompts: listChanged, resources: listChanged },
      ...protocol,
    });
    answerRequests(client, options.requests);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is not an EventTarget
    client.onerror = (error) => {
      reason = wordsOf(error);
    };
    const live: Live = {
      client,
      worked: false,
      async end() {
        if (end) await raceAbort(end(), AbortSignal.timeout(END_TIMEOUT_MS)).catch(() => {});
        await client.close().catch(() => {});
      },
    };
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is not an EventTarget
    client.onclose = () => lost(live, reason);
    const limit = AbortSignal.any([signal, tooLarge.signal]);
    try {
      // Some transports wait forever if a server accepts the connection and does not respond.
      await raceAbort(client.connect(transport, { timeout, signal: limit }), limit);
    } catch (error) {
      await live.end();
      throw error;
    }
    instructions = client.getInstructions();
    hasResources = client.getServerCapabilities()?.resources !== undefined;
    return live;
  }

  function lost(live: Live, reason: string): void {
    if (current !== live) return;
    current = undefined;
    problem = reason;
    // A connection on which the server never answered counts as a failed attempt. Without this rule, the server would
    // be restarted without a delay.
    if (live.worked) failures = 0;
    else failed(reason);
    options.changed();
    void live.end();
  }

  function failed(reason: string): void {
    problem = reason;
    failures++;
    const delay = backoffMs(failures, options.retryDelayMs, MAX_RETRY_DELAY_MS, () => 1);
    nextAttempt = Date.now() + delay;
  }

  /**
   * Returns the reason for an error in one line, without secrets and invisible characters. The text includes the
   * message of the error's cause, which names the actual reason why a fetch failed.
   */
  function wordsOf(error: unknown): string {
    const { cause } = error instanceof Error ? error : {};
    const message = error instanceof Error ? error.message : String(error);
    const text = cause instanceof Error ? `${message}: ${cause.message}` : message;
    // The text is shortened first, because it comes from the server and may be very long.
    const short = reasonOf(text.slice(0, 4 * MAX_REASON_LENGTH));
    return reveal(hide(short)).slice(0, MAX_REASON_LENGTH);
  }

  function closed(): McpError {
    return new McpError('closed', `the MCP server ${server.name} is closed`);
  }

  function down(): McpError {
    const message = `the MCP server ${server.name} is unavailable: ${problem}`;
    return new McpError('unreachable', message);
  }

  async function explain(what: 'list' | 'call', live: Live, error: unknown): Promise<McpError> {
    if (error instanceof McpError) return error;
    const errorOf = (code: McpErrorCode, did: string): McpError =>
      new McpError(code, `the MCP server ${server.name} ${did}`, error);
    const { ProtocolError, SdkError, SdkErrorCode } = await mcpLibrary();
    if (error instanceof ProtocolError) {
      return errorOf('tool', `refused the request: ${wordsOf(error)}`);
    }
    const code = error instanceof SdkError ? error.code : undefined;
    if (code === SdkErrorCode.RequestTimeout) {
      const timeoutMs = what === 'call' ? MAX_CALL_MS : options.callTimeoutMs;
      return errorOf('timeout', `did not respond within ${timeoutMs} ms`);
    }
    if (code === SdkErrorCode.InvalidResult) return errorOf('invalid', 'sent an invalid response');
    const why = current === live ? wordsOf(error) : problem;
    const outcome = what === 'call' ? '. It is unknown whether the call was executed' : '';
    return errorOf('unreachable', `failed: ${why}${outcome}`);
  }

  return {
    list,
    callTool,
    close,
    getPrompt: (name: string, args: Record<string, string>, signal: AbortSignal) =>
      ask('list', signal, (client, limits) => client.getPrompt({ name, arguments: args }, limits)),
    readResource: (uri: string, signal: AbortSignal) =>
      ask('list', signal, (client, limits) => client.readResource({ uri }, limits)),
    /** The server's instructions for its use, from the last connection. */
    get instructions() {
      return instructions;
    },
    /** Whether the server supported resources at the last connection. */
    get hasResources() {
      return hasResources;
    },
  };
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  return typeof error.status === 'number' ? error.status : undefined;
}

const MAX_REASON_LENGTH = 300;

type Complaint = ReturnType<typeof createComplaint>;

/**
 * Collects stderr to find the reason why a program did not start. The reason is the first line that mentions an error.
 * If there is no such line, the reason is the last line.
 */
function createComplaint() {
  let said = '';
  let telling = false;
  return {
    note(line: string): void {
      if (telling || line.trim() === '') return;
      telling = /error/i.test(line);
      said = line.trim().slice(0, MAX_REASON_LENGTH);
    },
    after: (reason: string) => (said === '' ? reason : `${reason}: ${said}`),
  };
}
