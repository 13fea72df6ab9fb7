/**
 * The line to an agent: its operations over undici's dispatcher, without the Request, Response and streams of `fetch`,
 * which cost more than all the rest of a proxied call. Bytes come in from the parser, events go out; nothing is between
 * them but what has been received and not been read yet, and that has an end.
 */
import type { Dispatcher } from 'undici';
import { createDialect, type Ask, type Dialect, type ChosenEndpoint } from '../../client/index.ts';
import {
  codecOf,
  type AgentService,
  type Call,
  type ParamsOf,
  type SendResult,
  type StreamItem,
  type Task,
  type WireCodec,
} from '../../protocol/index.ts';
import type { RemoteLimits } from '../../bridge/index.ts';
import { Exchange, type ExchangeLimits } from './exchange.ts';

export interface LineOptions {
  readonly endpoint: ChosenEndpoint;
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: Required<RemoteLimits>;
  /** Until an answer, or the first event of one, begins. */
  readonly timeoutMs: number;
}

/** What an agent behind the gateway is asked for. */
export type RemoteService = Pick<
  AgentService,
  'sendMessage' | 'streamMessage' | 'getTask' | 'cancelTask' | 'subscribe'
>;

/** Where the agent is and what it speaks: made once for each card. */
export class Line {
  readonly dispatcher: Dispatcher;
  readonly codec: WireCodec;
  readonly dialect: Dialect;
  readonly limits: Required<RemoteLimits>;
  readonly timeoutMs: number;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #extensionHeader: string;
  readonly #url: string;
  readonly #origin: string;
  readonly #path: string;

  constructor({ endpoint, dispatcher, headers, limits, timeoutMs }: LineOptions) {
    this.dispatcher = dispatcher;
    this.codec = codecOf(endpoint.version, endpoint.binding);
    this.dialect = createDialect(endpoint, this.codec);
    this.limits = limits;
    this.timeoutMs = timeoutMs;
    this.#url = endpoint.url;
    const { origin, pathname, search } = new URL(endpoint.url);
    this.#origin = origin;
    this.#path = pathname + search;
    this.#extensionHeader = endpoint.version === '0.3' ? 'x-a2a-extensions' : 'a2a-extensions';
    const own: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) own[name.toLowerCase()] = value;
    this.#headers = { ...own, 'a2a-version': endpoint.version, 'user-agent': 'parley-gateway' };
  }

  request(
    { url, method, body }: Ask,
    call: Call,
    accept: string,
    after?: number,
  ): Dispatcher.DispatchOptions {
    const headers: Record<string, string> = { ...this.#headers, accept };
    if (call.headers) Object.assign(headers, call.headers);
    if (call.extensions !== undefined && call.extensions.length > 0) {
      headers[this.#extensionHeader] = call.extensions.join(', ');
    }
    if (after !== undefined) headers['last-event-id'] = String(after);
    let origin = this.#origin;
    let path = this.#path;
    if (url !== this.#url) {
      const target = new URL(url);
      ({ origin } = target);
      path = target.pathname + target.search;
    }
    const { timeoutMs: headersTimeout, limits } = this;
    const options = { origin, path, method, headers, headersTimeout, bodyTimeout: limits.idleMs };
    if (body === undefined) return options;
    headers['content-type'] = this.dialect.contentType;
    return { ...options, body: JSON.stringify(body) };
  }
}

const WHOLE = 'application/json, application/a2a+json';
const EVENTS = 'text/event-stream';

/** One conversation over the line: a message and what comes back for it, with the bytes of all of it counted. */
export class LineService implements RemoteService {
  readonly #line: Line;
  readonly #limits: ExchangeLimits;

  constructor(line: Line) {
    this.#line = line;
    const { maxBytes, maxEventBytes } = line.limits;
    this.#limits = { bytesLeft: maxBytes, maxBytes, maxEventBytes };
  }

  sendMessage(params: ParamsOf<'sendMessage'>, call: Call = {}): Promise<SendResult> {
    return this.#unary('sendMessage', params, call);
  }

  getTask(params: ParamsOf<'getTask'>, call: Call = {}): Promise<Task> {
    return this.#unary('getTask', params, call);
  }

  cancelTask(params: ParamsOf<'cancelTask'>, call: Call = {}): Promise<Task> {
    return this.#unary('cancelTask', params, call);
  }

  streamMessage(
    params: ParamsOf<'streamMessage'>,
    call: Call = {},
  ): Promise<AsyncIterable<StreamItem>> {
    const ask = this.#line.dialect.ask('streamMessage', params);
    return this.#exchange(call).stream(this.#line.request(ask, call, EVENTS), true);
  }

  subscribe(
    { after, ...params }: ParamsOf<'subscribe'>,
    call: Call = {},
  ): Promise<AsyncIterable<StreamItem>> {
    const ask = this.#line.dialect.ask('subscribe', params);
    return this.#exchange(call).stream(this.#line.request(ask, call, EVENTS, after), false);
  }

  async #unary<O extends 'sendMessage' | 'getTask' | 'cancelTask'>(
    operation: O,
    params: ParamsOf<O>,
    call: Call,
  ) {
    const { dialect, codec } = this.#line;
    const request = this.#line.request(dialect.ask(operation, params), call, WHOLE);
    return codec.decodeResult(operation, await this.#exchange(call).whole(request));
  }

  #exchange({ signal }: Call): Exchange {
    return new Exchange(this.#line, this.#limits, signal);
  }
}
