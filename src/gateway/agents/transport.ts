/**
 * Sends HTTP requests to an agent through undici's dispatcher. `fetch` is not used, because its Request, Response and
 * streams take more time than all other work for a proxied call.
 */
import type { Dispatcher } from 'undici';
import {
  ByteBudget,
  type EventDecoding,
  type RemoteLimits,
  type Transport,
  type OutgoingRequest,
  type WholeResponse,
} from '../../client/index.ts';
import type { Call, StreamItem } from '../../protocol/index.ts';
import { Exchange } from './exchange.ts';

export interface TransportOptions {
  /** The agent's endpoint. */
  readonly url: string;
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: Required<RemoteLimits>;
  /** Maximum time until a response begins. */
  readonly timeoutMs: number;
}

/** A call with a limit of received bytes. All requests for one message and its result share this limit. */
export interface LimitedCall extends Call {
  readonly budget: ByteBudget;
}

/** Returns the limit of received bytes for a call. A call that is not a LimitedCall gets its own limit. */
export function budgetOf(call: Call | LimitedCall, limits: Required<RemoteLimits>): ByteBudget {
  return 'budget' in call ? call.budget : new ByteBudget(limits.maxBytes);
}

export function createTransport(options: TransportOptions): Transport {
  const { dispatcher, limits } = options;
  const { origin, pathname, search } = new URL(options.url);
  const base: Dispatcher.DispatchOptions = {
    origin,
    path: pathname + search,
    method: 'POST',
    headersTimeout: options.timeoutMs,
    bodyTimeout: limits.idleMs,
  };
  const own: Record<string, string> = { 'user-agent': 'parley-gateway' };
  for (const [name, value] of Object.entries(options.headers)) own[name.toLowerCase()] ??= value;

  function toDispatch(request: OutgoingRequest): Dispatcher.DispatchOptions {
    const { url, method, body = null } = request;
    const headers = { ...own, ...request.headers };
    if (url === options.url) return { ...base, method, headers, body };
    const target = new URL(url);
    const path = target.pathname + target.search;
    return { ...base, origin: target.origin, path, method, headers, body };
  }

  function exchange(call: Call | LimitedCall, decode?: EventDecoding['decode']): Exchange {
    return new Exchange(
      dispatcher,
      budgetOf(call, limits),
      limits.maxEventBytes,
      call.signal,
      decode,
    );
  }

  return {
    whole: (request: OutgoingRequest, call) => exchange(call).whole(toDispatch(request)),
    stream: (
      request: OutgoingRequest,
      { decode, expectsEvent }: EventDecoding,
      call,
    ): Promise<AsyncIterable<StreamItem> | WholeResponse> =>
      exchange(call, decode).stream(toDispatch(request), expectsEvent),
  };
}
