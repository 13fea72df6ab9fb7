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
  GetPromptResult,
  Prompt,
  ReadResourceResult,
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
  openTransport,
  transportKinds,
  type McpServerConfig,
  type TransportKind,
} from './mcp-transport.ts';
import { mcpLibrary } from './mcp-library.ts';

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
  /** Delay before the second attempt. It doubles with each further attempt. */
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

type ListKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates';

/** The capability that a server must have for each list. Without this capability, the list is empty. */
const NEEDED: Readonly<Record<ListKind, 'prompts' | 'resources' | undefined>> = {
  tools: undefined,
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resources',
};

type Page<Kind extends ListKind, Item> = { readonly [K in Kind]: readonly Item[] } & {
  readonly nextCursor?: string | undefined;
};

/** An open connection. */
interface Live {
  readonly client: Client;
  /** Ends the session and closes the connection or the program. Never throws. */
  readonly end: () => Promise<void>;
  /** Whether the server has answered a request. */
  worked: boolean;
}

export class McpConnection {
  readonly #server: McpServerConfig;
  readonly #options: ConnectionOptions;
  readonly #hide: (text: string) => string;
  readonly #closing = new AbortController();
  #live: Live | undefined;
  #connecting: Promise<Live> | undefined;
  #failures = 0;
  #nextAttempt = 0;
  #reason = '';
  #instructions: string | undefined;
  #hasResources = false;

  constructor(server: McpServerConfig, options: ConnectionOptions) {
    this.#server = server;
    this.#options = options;
    this.#hide = secretHider(server);
  }

  /** The server's instructions for its use, from the last connection. */
  get instructions(): string | undefined {
    return this.#instructions;
  }

  /** Whether the server supported resources at the last connection. */
  get hasResources(): boolean {
    return this.#hasResources;
  }

  /** Returns at most `limit` tools of the server. */
  listTools(limit: number, signal: AbortSignal): Promise<Tool[]> {
    return this.#list('tools', limit, signal, (client, params, options) =>
      client.request({ method: 'tools/list', params }, options),
    );
  }

  listPrompts(limit: number, signal: AbortSignal): Promise<Prompt[]> {
    return this.#list('prompts', limit, signal, (client, params, options) =>
      client.request({ method: 'prompts/list', params }, options),
    );
  }

  listResources(limit: number, signal: AbortSignal): Promise<Resource[]> {
    return this.#list('resources', limit, signal, (client, params, options) =>
      client.request({ method: 'resources/list', params }, options),
    );
  }

  listResourceTemplates(limit: number, signal: AbortSignal): Promise<ResourceTemplateType[]> {
    return this.#list('resourceTemplates', limit, signal, (client, params, options) =>
      client.request({ method: 'resources/templates/list', params }, options),
    );
  }

  getPrompt(
    name: string,
    args: Record<string, string>,
    signal: AbortSignal,
  ): Promise<GetPromptResult> {
    return this.#ask('list', signal, (client, options) =>
      client.getPrompt({ name, arguments: args }, options),
    );
  }

  readResource(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    return this.#ask('list', signal, (client, options) => client.readResource({ uri }, options));
  }

  async #list<Kind extends ListKind, Item>(
    kind: Kind,
    limit: number,
    signal: AbortSignal,
    ask: (
      client: Client,
      params: { cursor?: string },
      options: AskOptions,
    ) => Promise<Page<Kind, Item>>,
  ): Promise<Item[]> {
    const found: Item[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#ask('list', signal, async (client, options) => {
        const needed = NEEDED[kind];
        const has = needed === undefined || client.getServerCapabilities()?.[needed];
        return has ? ask(client, params, options) : undefined;
      });
      found.push(...(result?.[kind].slice(0, limit - found.length) ?? []));
      cursor = result?.nextCursor;
      if (cursor === undefined || found.length >= limit) break;
    }
    return found;
  }

  /** Makes a call, with the timeout `MAX_CALL_MS`. A caller that needs a shorter timeout must abort the call itself. */
  callTool(tool: Tool, args: JsonObject, call: McpCallOptions): Promise<CallToolResult> {
    // `outputSchema` is removed, so that the client does not validate the result against a schema of the server.
    const { outputSchema: _unused, ...toolDefinition } = tool;
    return this.#ask('call', call.signal, (client, { signal }) => {
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

  async close(): Promise<void> {
    this.#closing.abort();
    this.#options.changed();
    const live = this.#live ?? (await this.#connecting?.catch(() => undefined));
    this.#live = undefined;
    await live?.end();
  }

  async #ask<T>(
    what: 'list' | 'call',
    signal: AbortSignal,
    request: (client: Client, options: AskOptions) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const live = await this.#connected(signal);
      try {
        const timeout = this.#options.callTimeoutMs;
        const result = await request(live.client, { signal, timeout });
        live.worked = true;
        return result;
      } catch (error) {
        signal.throwIfAborted();
        const forgotten = statusOf(error) === 404;
        const problem = await this.#explain(what, live, error);
        if (problem.code === 'unreachable') this.#lost(live, this.#reasonOf(error));
        if (!forgotten || attempt > 0) throw problem;
      }
    }
  }

  #connected(signal: AbortSignal): Promise<Live> | Live {
    signal.throwIfAborted();
    if (this.#closing.signal.aborted) throw this.#closed();
    if (this.#live) return this.#live;
    if (!this.#connecting) {
      if (Date.now() < this.#nextAttempt) throw this.#down();
      this.#connecting = outsideCalls(() => this.#connect()).finally(
        () => (this.#connecting = undefined),
      );
      // The handler prevents an unhandled rejection if every waiting request was aborted.
      this.#connecting.catch(() => {});
    }
    return raceAbort(this.#connecting, signal);
  }

  async #connect(): Promise<Live> {
    const { connectTimeoutMs: timeout } = this.#options;
    const complaint = createComplaint();
    // All transports and protocol versions that are tried share one deadline.
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeout)]);
    try {
      return (this.#live = await this.#connectBy(transportKinds(this.#server), complaint, signal));
    } catch (error) {
      if (this.#closing.signal.aborted) throw this.#closed();
      const late = error instanceof Error && error.name === 'TimeoutError';
      this.#failed(
        complaint.after(late ? `no response within ${timeout} ms` : this.#reasonOf(error)),
      );
      throw this.#down();
    }
  }

  /** Connects with the first transport that the server supports. */
  async #connectBy(
    [kind, fallback]: readonly TransportKind[],
    complaint: Complaint,
    signal: AbortSignal,
  ): Promise<Live> {
    try {
      return await this.#open(kind!, complaint, signal);
    } catch (error) {
      if (fallback === undefined || !isLegacyServer(statusOf(error))) throw error;
      // For a server that supports neither transport, the first error is more useful.
      return this.#open(fallback, complaint, signal).catch(() => Promise.reject(error));
    }
  }

  /**
   * Opens the connection. Over Streamable HTTP, first tries MCP 2026-07-28, because newer servers can ask for input
   * only with this version. This version is not tried with a program. A program would have to be started twice, and it
   * can ask for input with the older protocol.
   */
  async #open(kind: TransportKind, complaint: Complaint, signal: AbortSignal): Promise<Live> {
    if (kind === 'http') {
      // The attempt uses at most half of the time, because an older server might never answer the unknown request.
      const timeoutMs = Math.min(PROBE_MS, this.#options.connectTimeoutMs / 2);
      const versionNegotiation = { mode: 'auto', probe: { timeoutMs } } as const;
      try {
        return await this.#openWith(kind, complaint, signal, { versionNegotiation });
      } catch (error) {
        // An older server may react to the unknown request with any error. If the error has another reason, the next
        // attempt fails too.
        if (signal.aborted) throw error;
      }
    }
    return this.#openWith(kind, complaint, signal, {});
  }

  async #openWith(
    kind: TransportKind,
    complaint: Complaint,
    signal: AbortSignal,
    protocol: Pick<ClientOptions, 'versionNegotiation'>,
  ): Promise<Live> {
    const { connectTimeoutMs: timeout, log } = this.#options;
    let reason = 'the connection was closed';
    const tooLarge = new AbortController();
    const { Client } = await mcpLibrary();
    const { transport, end } = await openTransport(this.#server, kind, {
      log: (line) => {
        const shown = this.#hide(line);
        complaint.note(reveal(shown));
        log?.(shown);
      },
      overflow: (why) => {
        reason = why;
        tooLarge.abort(new Error(why));
        this.#lost(live, why);
      },
    });
    const onChanged = (): void => {
      this.#options.changed();
      this.#options.listChanged();
    };
    const listChanged = { autoRefresh: false, debounceMs: 0, onChanged };
    const client = new Client(CLIENT, {
      capabilities: capabilitiesFor(this.#options.requests),
      listChanged: { tools: listChanged, prompts: listChanged, resources: listChanged },
      ...protocol,
    });
    answerRequests(client, this.#options.requests);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is not an EventTarget
    client.onerror = (error) => {
      reason = this.#reasonOf(error);
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
    client.onclose = () => this.#lost(live, reason);
    const limit = AbortSignal.any([signal, tooLarge.signal]);
    try {
      // Some transports wait forever if a server accepts the connection and does not respond.
      await raceAbort(client.connect(transport, { timeout, signal: limit }), limit);
    } catch (error) {
      await live.end();
      throw error;
    }
    this.#instructions = client.getInstructions();
    this.#hasResources = client.getServerCapabilities()?.resources !== undefined;
    return live;
  }

  #lost(live: Live, reason: string): void {
    if (this.#live !== live) return;
    this.#live = undefined;
    this.#reason = reason;
    // A connection on which the server never answered counts as a failed attempt. Without this rule, the server would
    // be restarted without a delay.
    if (live.worked) this.#failures = 0;
    else this.#failed(reason);
    this.#options.changed();
    void live.end();
  }

  #failed(reason: string): void {
    this.#reason = reason;
    this.#failures++;
    const { retryDelayMs } = this.#options;
    const delay = backoffMs(this.#failures, retryDelayMs, MAX_RETRY_DELAY_MS, () => 1);
    this.#nextAttempt = Date.now() + delay;
  }

  /**
   * Returns the reason for an error in one line, without secrets and invisible characters. For a failed fetch, the actual
   * reason is in the cause.
   */
  #reasonOf(error: unknown): string {
    const { cause } = error instanceof Error ? error : {};
    const message = error instanceof Error ? error.message : String(error);
    const text = cause instanceof Error ? `${message}: ${cause.message}` : message;
    // The text is shortened first, because it comes from the server and may be very long.
    const short = reasonOf(text.slice(0, 4 * MAX_REASON_LENGTH));
    return reveal(this.#hide(short)).slice(0, MAX_REASON_LENGTH);
  }

  #closed(): McpError {
    return new McpError('closed', `the MCP server ${this.#server.name} is closed`);
  }

  #down(): McpError {
    const { name } = this.#server;
    return new McpError('unreachable', `the MCP server ${name} is unavailable: ${this.#reason}`);
  }

  async #explain(what: 'list' | 'call', live: Live, error: unknown): Promise<McpError> {
    if (error instanceof McpError) return error;
    const failed = (code: McpErrorCode, did: string): McpError =>
      new McpError(code, `the MCP server ${this.#server.name} ${did}`, error);
    const { ProtocolError, SdkError, SdkErrorCode } = await mcpLibrary();
    if (error instanceof ProtocolError) {
      return failed('tool', `refused the request: ${this.#reasonOf(error)}`);
    }
    const code = error instanceof SdkError ? error.code : undefined;
    if (code === SdkErrorCode.RequestTimeout) {
      const timeoutMs = what === 'call' ? MAX_CALL_MS : this.#options.callTimeoutMs;
      return failed('timeout', `did not respond within ${timeoutMs} ms`);
    }
    if (code === SdkErrorCode.InvalidResult) return failed('invalid', 'sent an invalid response');
    const why = this.#live === live ? this.#reasonOf(error) : this.#reason;
    const outcome = what === 'call' ? '. It is unknown whether the call was executed' : '';
    return failed('unreachable', `failed: ${why}${outcome}`);
  }
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
