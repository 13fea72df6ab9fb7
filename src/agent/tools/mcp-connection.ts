/**
 * The connection to an MCP server: made when it is needed, and again after the server went away.
 *
 * Whoever asks while it is being made waits for the same attempt. After an attempt that failed the next one is due
 * later and later, up to half a minute; whoever asks before gets the reason at once. A call is never repeated on a new
 * connection, because the first may have been carried out; only one that the server refused unread is (a session that
 * it does not know any more).
 */
import { raceAbort, type JsonObject } from '../../base/index.ts';
import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client';
import { McpError } from './mcp-error.ts';
import { openTransport, type McpServerConfig } from './mcp-transport.ts';

const CLIENT = { name: 'parley', version: '0.1.0' };
const MAX_RETRY_DELAY_MS = 30_000;
/** The server's leave is asked for, not waited for. */
const END_TIMEOUT_MS = 1_000;
/** Pages of a list. */
const MAX_PAGES = 100;
/** A call that shows progress all the time ends all the same. */
const MAX_CALL_MS = 60 * 60_000;

export interface ConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** Before the second attempt; doubled for each that follows. */
  readonly retryDelayMs: number;
  readonly log: ((line: string) => void) | undefined;
  /** The tools may not be the same any more. */
  readonly changed: () => void;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** A connection that is there. */
interface Live {
  readonly client: Client;
  readonly end: () => Promise<void>;
  /** It has answered something. */
  worked: boolean;
}

export class McpConnection {
  readonly #server: McpServerConfig;
  readonly #options: ConnectionOptions;
  readonly #closing = new AbortController();
  #live: Live | undefined;
  #connecting: Promise<Live> | undefined;
  #failures = 0;
  #nextAttempt = 0;
  #reason = '';

  constructor(server: McpServerConfig, options: ConnectionOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** The tools as the server has them, at most so many. */
  async listTools(limit: number, signal: AbortSignal): Promise<Tool[]> {
    const tools: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#ask('list', signal, (client, options) =>
        client.request({ method: 'tools/list', params }, options),
      );
      tools.push(...result.tools.slice(0, limit - tools.length));
      cursor = result.nextCursor;
      if (cursor === undefined || tools.length >= limit) break;
    }
    return tools;
  }

  callTool(
    tool: Tool,
    args: JsonObject,
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    // Without it the result is not checked against a schema of the server's own making.
    const { outputSchema: _unused, ...toolDefinition } = tool;
    return this.#ask('call', signal, (client, options) =>
      client.callTool(
        { name: tool.name, arguments: args },
        {
          ...options,
          toolDefinition,
          onprogress: onProgress,
          resetTimeoutOnProgress: true,
          maxTotalTimeout: MAX_CALL_MS,
        },
      ),
    );
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
    request: (client: Client, options: { signal: AbortSignal; timeout: number }) => Promise<T>,
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
        if (problem.code === 'unreachable') this.#lost(live, reasonOf(error));
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
      this.#connecting = this.#connect().finally(() => (this.#connecting = undefined));
      // Those who wait hear of it; nobody may be left who does.
      this.#connecting.catch(() => {});
    }
    return raceAbort(this.#connecting, signal);
  }

  async #connect(): Promise<Live> {
    const { connectTimeoutMs: timeout, changed, log } = this.#options;
    let live: Live | undefined;
    let reason = 'it ended';
    const complaint = createComplaint();
    try {
      const { Client } = await import('@modelcontextprotocol/client');
      const { transport, end } = await openTransport(this.#server, {
        log: (line) => {
          complaint.note(line);
          log?.(line);
        },
        overflow: (why) => {
          reason = why;
          if (live) this.#lost(live, why);
        },
      });
      const client = new Client(CLIENT, {
        capabilities: {},
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } },
      });
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is no EventTarget
      client.onerror = (error) => {
        reason = reasonOf(error);
      };
      const made: Live = { client, worked: false, end: () => this.#end(client, end) };
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- likewise
      client.onclose = () => this.#lost(made, reason);
      live = made;
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeout)]);
      try {
        // Raced, because a server that takes the connection and says nothing is not left by every transport.
        await raceAbort(client.connect(transport, { timeout, signal }), signal);
      } catch (error) {
        await made.end();
        throw error;
      }
      return (this.#live = made);
    } catch (error) {
      if (this.#closing.signal.aborted) throw this.#closed();
      const late = error instanceof Error && error.name === 'TimeoutError';
      this.#failed(complaint.after(late ? `no answer within ${timeout} ms` : reasonOf(error)));
      throw this.#down();
    }
  }

  /** Asks for leave, closes, and with it ends the program. Does not fail. */
  async #end(client: Client, end: (() => Promise<void>) | undefined): Promise<void> {
    const timeout = AbortSignal.timeout(END_TIMEOUT_MS);
    if (end) await raceAbort(end(), timeout).catch(() => {});
    await client.close().catch(() => {});
  }

  #lost(live: Live, reason: string): void {
    if (this.#live !== live) return;
    this.#live = undefined;
    this.#reason = reason;
    // One that never answered anything would be started again and again.
    if (live.worked) this.#failures = 0;
    else this.#failed(reason);
    this.#options.changed();
    void live.end();
  }

  #failed(reason: string): void {
    this.#reason = reason;
    const delay = Math.min(this.#options.retryDelayMs * 2 ** this.#failures, MAX_RETRY_DELAY_MS);
    this.#failures++;
    this.#nextAttempt = Date.now() + delay;
  }

  #closed(): McpError {
    return new McpError('closed', `the MCP server ${this.#server.name} is closed`);
  }

  #down(): McpError {
    const { name } = this.#server;
    return new McpError('unreachable', `the MCP server ${name} is not there: ${this.#reason}`);
  }

  async #explain(what: 'list' | 'call', live: Live, error: unknown): Promise<McpError> {
    if (error instanceof McpError) return error;
    const { name } = this.#server;
    const { ProtocolError, SdkError, SdkErrorCode } = await import('@modelcontextprotocol/client');
    if (error instanceof ProtocolError) {
      return new McpError('tool', `the MCP server ${name} refuses: ${reasonOf(error)}`, error);
    }
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
      const { callTimeoutMs } = this.#options;
      return new McpError('timeout', `${name} gave no answer within ${callTimeoutMs} ms`, error);
    }
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
      return new McpError('invalid', `what ${name} answered is not MCP`, error);
    }
    const why = this.#live === live ? reasonOf(error) : this.#reason;
    const outcome = what === 'call' ? '. Whether the call was carried out is unknown' : '';
    return new McpError('unreachable', `the MCP server ${name} failed: ${why}${outcome}`, error);
  }
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  return typeof error.status === 'number' ? error.status : undefined;
}

const MAX_REASON_LENGTH = 300;

/** What a program that does not get ready says on stderr: the first line that speaks of an error, else the last. */
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

/** In one line. A failed fetch has its reason below. */
function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const message = error instanceof Error ? error.message : String(error);
  const text = cause instanceof Error ? `${message}: ${cause.message}` : message;
  // Cut first: these are a server's own words, and blanks without end take for ever to look through.
  const head = text.slice(0, 4 * MAX_REASON_LENGTH);
  return head.replaceAll(/\s*\n\s*/g, ' ').slice(0, MAX_REASON_LENGTH);
}
