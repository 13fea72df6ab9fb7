/**
 * The calls that an MCP server is executing, and the requests that the server sends during these calls. A request asks
 * for the answer of a person (elicitation) or of the model (sampling).
 *
 * If a person has to be asked, `run` returns the question like any other tool, so every client can answer it. The call
 * stays open at the server. When the answer arrives, `run` is called again, responds to the server, and waits for the
 * result. If the process has ended in between, the call fails with an unknown outcome.
 *
 * A request of the server does not always name the call that it belongs to. If calls of several sessions are open, and
 * neither the metadata nor the transport shows the call, the request is refused, so that the wrong person cannot see
 * it.
 */
import { BoundedMap, isObject, raceAbort, type JsonObject } from '../../base/index.ts';
import type {
  CallToolResult,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  Tool as McpTool,
} from '@modelcontextprotocol/client';
import { outcomeUnknown } from '../run/stopped-calls.ts';
import type { SessionKey } from '../session.ts';
import { keyText } from '../sessions/prepare.ts';
import { Waiting, type Tool, type ToolContext } from '../tool.ts';
import { elicitationQuestion, type ElicitationReply } from './mcp-elicitation.ts';
import { McpError } from './mcp-error.ts';
import type { McpCallOptions, Progress, RequestOrigin } from './mcp-requests.ts';
import { samplingArguments } from './mcp-sampling.ts';
import {
  elicitationRequest,
  Refusal,
  samplingRequest,
  type ServerRequest,
} from './mcp-server-request.ts';

/** Maximum number of requests of the server that are answered during one call. */
const MAX_REQUESTS = 20;
/** Maximum number of requests of one call that wait at the same time. */
const MAX_WAITING = 5;
/** Maximum number of open calls per server, including the calls that wait for a person. */
const MAX_CALLS = 100;
/** Maximum number of model answers that a server may request in one run. */
const MAX_SAMPLES = 10;
/** Maximum number of runs for which model answers are counted. */
const COUNTED_RUNS = 100;

export interface McpCallsOptions {
  readonly server: string;
  /**
   * Maximum time in milliseconds for which a call waits for the server: for its response, a progress report or a
   * request. The time does not run while the server waits for an answer.
   */
  readonly timeoutMs: number;
  /**
   * The tool that gets the model's answers for the server. Its `confirm` decides whether a person is asked first.
   * Undefined if the server cannot use a model.
   */
  readonly sampling: Tool | undefined;
  readonly log: ((line: string) => void) | undefined;
  readonly call: (
    tool: McpTool,
    args: JsonObject,
    options: McpCallOptions,
  ) => Promise<CallToolResult>;
}

export class McpCalls {
  readonly #options: McpCallsOptions;
  readonly #open = new Map<string, OpenCall>();
  /** The number of model answers that the server has requested, by run. */
  readonly #samples = new BoundedMap<number>(COUNTED_RUNS);

  constructor(options: McpCallsOptions) {
    this.#options = options;
  }

  /**
   * Makes a call, or continues it with a person's answer. Returns the result of the call or a question of the server.
   */
  async run(
    tool: McpTool,
    args: JsonObject,
    context: ToolContext,
    onProgress: (progress: Progress) => void,
  ): Promise<CallToolResult | Waiting> {
    const key = keyText(context.session, context.callId);
    const { signal } = context;
    let { answer } = context;
    const call = this.#open.get(key) ?? this.#begin(key, tool, args, context);
    call.onProgress = onProgress;
    let parked = false;
    try {
      for (;;) {
        const request = await raceAbort(call.next(), signal);
        if (!request) return await call.result;
        const question = await raceAbort(request.proceed(context, answer), signal);
        answer = undefined;
        if (question) {
          parked = true;
          return new Waiting(question);
        }
        call.remove(request);
      }
    } finally {
      call.onProgress = undefined;
      if (!parked) this.#end(key);
    }
  }

  /** Stops an open call. Does nothing if there is no such call. */
  cancel(callId: string, session: SessionKey): void {
    this.#end(keyText(session, callId));
  }

  /** Answers a question of the server by asking a person. */
  async elicit(params: ElicitRequestParams, context: RequestOrigin): Promise<ElicitationReply> {
    const found = this.#callFor(params, context);
    if (typeof found === 'string') return this.#dismiss(found);
    return this.#ask(found, params, context.signal);
  }

  async #ask(
    call: OpenCall,
    params: ElicitRequestParams,
    signal: AbortSignal,
  ): Promise<ElicitationReply> {
    const { server } = this.#options;
    const asked = elicitationQuestion(server, params);
    if (typeof asked === 'string') return this.#dismiss(asked);
    const { promise, resolve } = Promise.withResolvers<ElicitationReply>();
    call.add(elicitationRequest(server, call.nextId(), asked, resolve), signal);
    return promise;
  }

  #dismiss(reason: string): ElicitationReply {
    const { server, log } = this.#options;
    log?.(`${server}: a question of the server was not asked: ${reason}`);
    return { action: 'cancel' };
  }

  /** Answers a request of the server with the model's answer. */
  async sample(
    params: CreateMessageRequestParams,
    context: RequestOrigin,
  ): Promise<CreateMessageResult> {
    const { sampling, server } = this.#options;
    const found = this.#callFor(params, context);
    if (typeof found === 'string') throw new Refusal(found);
    if (!sampling) throw new Refusal('sampling is not available');
    const args = samplingArguments(params);
    if (typeof args === 'string') throw new Refusal(args);
    const count = (this.#samples.get(found.runId) ?? 0) + 1;
    if (count > MAX_SAMPLES) {
      throw new Refusal(`at most ${MAX_SAMPLES} answers of the model per turn are available`);
    }
    this.#samples.set(found.runId, count);
    const { promise, ...settle } = Promise.withResolvers<CreateMessageResult>();
    const request = { server, id: found.nextId(), tool: sampling, args, settle };
    found.add(samplingRequest(request), context.signal);
    return promise;
  }

  #begin(key: string, tool: McpTool, args: JsonObject, context: ToolContext): OpenCall {
    // There is an answer but no open call: the process that made the call has ended, or the code below has removed the
    // call.
    if (context.answer) throw outcomeUnknown();
    if (this.#open.size >= MAX_CALLS) {
      const { server } = this.#options;
      // A call that ended before its question was answered is kept only so that `run` can return its result after the
      // answer. If the call is removed, `run` reports an unknown outcome instead.
      const [ended] = [...this.#open].find(([, { ended: over }]) => over) ?? [];
      if (ended !== undefined) this.#open.delete(ended);
      else throw new McpError('tool', `the MCP server ${server} has too many open calls`);
    }
    const { timeoutMs, server, call: make } = this.#options;
    const late = `the MCP server ${server} did not respond within ${timeoutMs} ms`;
    const call = new OpenCall(context, timeoutMs, () => new McpError('timeout', late));
    this.#open.set(key, call);
    call.follow(async (options) => {
      try {
        return await make(tool, args, options);
      } catch (error) {
        const pages = requiredPages(error);
        // MCP's URL elicitation: instead of executing the call, the server requires the person to open certain pages.
        // The call is made again after the person has accepted each page.
        for (const page of pages) {
          const { action } = await this.#ask(call, page, options.signal);
          if (action !== 'accept') throw error;
        }
        if (pages.length === 0) throw error;
        return make(tool, args, options);
      }
    });
    return call;
  }

  #end(key: string): void {
    this.#open.get(key)?.stop(new Error('the call was stopped'));
    this.#open.delete(key);
  }

  /** Returns the call to which a request of the server belongs, or a reason to refuse the request. */
  #callFor(params: { readonly _meta?: unknown }, context: RequestOrigin): OpenCall | string {
    const calls = [...this.#open.values()].filter((call) => !call.ended);
    const taskId = relatedTask(params);
    const own = calls.find(
      (call) => call.options === context.call || (taskId !== undefined && call.taskId === taskId),
    );
    const call = own ?? calls.at(-1);
    if (!call) return 'no call of the server is open';
    const isClear = own || calls.every(({ place }) => place === call.place);
    if (!isClear)
      return 'calls of several sessions are open, and the request may be for any of them';
    return call.refusal() ?? call;
  }
}

/** The error code for a call that requires the person to open a page first. */
const PAGE_REQUIRED = -32042;
const MAX_PAGES = 3;

/**
 * Returns the pages that the person must open before the call can be made. Returns an empty array for any other error.
 */
function requiredPages(error: unknown): ElicitRequestParams[] {
  const cause: unknown = error instanceof McpError ? error.cause : undefined;
  if (!isObject(cause) || cause['code'] !== PAGE_REQUIRED || !isObject(cause['data'])) return [];
  const { elicitations } = cause['data'];
  const listed: readonly unknown[] = Array.isArray(elicitations) ? elicitations : [];
  return listed.slice(0, MAX_PAGES).flatMap((each) => {
    if (!isObject(each)) return [];
    const { url, message, elicitationId } = each;
    if (typeof url !== 'string' || typeof elicitationId !== 'string') return [];
    return [
      {
        mode: 'url' as const,
        url,
        message: typeof message === 'string' ? message : '',
        elicitationId,
      },
    ];
  });
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Returns the id of the server's task that a request names in its metadata, or undefined if it names none. */
function relatedTask({ _meta: meta }: { readonly _meta?: unknown }): string | undefined {
  const related = isObject(meta) ? meta[RELATED_TASK] : undefined;
  const taskId = isObject(related) ? related['taskId'] : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

/** A call that the server is executing, with the server's requests that wait for an answer. */
class OpenCall {
  /** The key of the call's session. */
  readonly place: string;
  readonly runId: string;
  /** The options with which the call was made, or undefined before it is made. */
  options: McpCallOptions | undefined;
  /** The id of the server's task, or undefined if the server has not created a task for the call. */
  taskId: string | undefined;
  onProgress: ((progress: Progress) => void) | undefined;
  ended = false;
  readonly #stop = new AbortController();
  readonly #requests: ServerRequest[] = [];
  readonly #timeoutMs: number;
  readonly #late: () => McpError;
  #result: Promise<CallToolResult> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #begun = false;
  #count = 0;
  #wake: (() => void) | undefined;

  constructor({ session, runId }: ToolContext, timeoutMs: number, late: () => McpError) {
    this.place = keyText(session);
    this.runId = runId;
    this.#timeoutMs = timeoutMs;
    this.#late = late;
  }

  get result(): Promise<CallToolResult> {
    return this.#result ?? Promise.reject(new TypeError('the call was not made'));
  }

  follow(make: (options: McpCallOptions) => Promise<CallToolResult>): void {
    this.options = {
      signal: this.#stop.signal,
      begun: (taskId) => {
        this.#begun = true;
        this.taskId = taskId ?? this.taskId;
        this.#watch();
      },
      onProgress: (progress) => {
        this.#watch();
        this.onProgress?.(progress);
      },
    };
    this.#result = make(this.options).finally(() => {
      this.ended = true;
      clearTimeout(this.#timer);
      for (const request of this.#requests.splice(0)) request.refuse('the call has ended');
      this.#wake?.();
    });
    // The handler prevents an unhandled rejection. A call that waits for a person may fail while its result is not
    // awaited.
    this.#result.catch(() => {});
  }

  /** Returns the next request of the server, or undefined when the call has ended. */
  async next(): Promise<ServerRequest | undefined> {
    for (;;) {
      if (this.ended) return undefined;
      const [request] = this.#requests;
      if (request) return request;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  nextId(): string {
    return `request_${++this.#count}`;
  }

  /** Returns the reason why the call accepts no further requests, or undefined if it accepts them. */
  refusal(): string | undefined {
    if (this.#count >= MAX_REQUESTS)
      return `at most ${MAX_REQUESTS} requests per call are answered`;
    if (this.#requests.length >= MAX_WAITING) return `${MAX_WAITING} requests are already waiting`;
    return undefined;
  }

  /** Adds a request. `signal` is aborted when the server no longer waits for the answer. */
  add(request: ServerRequest, signal: AbortSignal): void {
    this.#requests.push(request);
    signal.addEventListener('abort', () => this.remove(request), { once: true });
    this.#watch();
    this.#wake?.();
  }

  remove(request: ServerRequest): void {
    const at = this.#requests.indexOf(request);
    if (at >= 0) this.#requests.splice(at, 1);
    this.#watch();
  }

  stop(reason: Error): void {
    clearTimeout(this.#timer);
    this.#stop.abort(reason);
  }

  /** Restarts the timeout. The timeout is stopped while the server waits for an answer. */
  #watch(): void {
    clearTimeout(this.#timer);
    if (!this.#begun || this.ended || this.#requests.length > 0) return;
    this.#timer = setTimeout(() => this.stop(this.#late()), this.#timeoutMs);
  }
}
