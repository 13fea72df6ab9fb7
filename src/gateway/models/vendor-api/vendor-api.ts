/**
 * The common part of the endpoints for the vendors' own clients, such as `/v1/chat/completions` and `/v1/messages`. An
 * endpoint converts the request, the answer and the errors. This file finds the model, calls the providers with
 * failover, stops when the client disconnects, and counts the answers in progress. Requests create no task, and only
 * their usage is stored. As an exception, the Responses API stores its responses as tasks.
 *
 *   const api = createVendorApi({ models });
 *   defineRoute({ …, handle: ({ body, ...input }) => api.answer(input, {
 *     model: body.model, request: (strict) => requestOf(body, { strict }),
 *     hasTools: hasTools(body), relay: relayOf(body), whole: (chunks) => messageOf(chunks),
 *     frames: (chunks) => eventsOf(chunks), failure: (error) => eventOf(error),
 *   }) })
 *
 * A provider that accepts the client's format gets the client's own request (`relay`). The client then gets the
 * provider's answer in this format.
 */
import { text } from 'node:stream/consumers';
import type { ModelRequest } from '../../../agent/index.ts';
import { A2AError, type Call } from '../../../protocol/index.ts';
import type { RouteText } from '../../../http/index.ts';
import type { RouteAnswer, RouteInput } from '../../api/route.ts';
import type { FullChunk, FullChunks, RelayedChunk } from '../chunks.ts';
import type { AnswerStream, Models } from '../models.ts';
import type { ModelTarget } from '../catalogue.ts';
import { streams } from '../limits.ts';
import { relays } from '../provider.ts';
import type { Relay } from '../relay/relay.ts';
import { tokenCounter } from '../token-count.ts';
import { Frames } from './frames.ts';
import { countIn } from './answer.ts';

/** A request for the providers of a model. */
export interface Prepared {
  /** The model with the providers that may be called. */
  readonly target: ModelTarget;
  readonly request: ModelRequest;
  /** Undefined if no provider gets the client's request without conversion. */
  readonly relay: Relay | undefined;
}

/** One request in a vendor's format, its conversions, and functions that write the answer in this format. */
export interface Exchange {
  /** The caller's name for the model. */
  readonly model: string;
  /** Whether the request has tools: functions, or tools that run at the vendor. */
  readonly hasTools: boolean;
  /** The request for providers that accept the client's format. */
  readonly relay: Relay;
  /**
   * Converts the request. With `strict`, converts it for providers with another API, and throws if this is not
   * possible. Without `strict`, converts at least what is needed to count the tokens, and accepts content that only
   * providers with the client's API support.
   */
  request(strict: boolean): ModelRequest;
  /** Returns the complete response. The last chunk is `finish`. */
  whole(chunks: FullChunks, asked: Prepared): Promise<unknown>;
  /** Returns the stream, in pieces of text. */
  frames(chunks: FullChunks, asked: Prepared): AsyncIterable<string>;
  /** Returns the last text of a stream that has failed: the error in the vendor's format. */
  failure(error: A2AError): string;
  /** Returns a promise that must resolve before the client gets the next piece of a relayed answer. */
  pending?(): Promise<void> | undefined;
  /** Converts a relayed stream for clients that do not get server-sent events. */
  readonly passed?: ((texts: AsyncIterable<string>) => AsyncIterable<string>) | undefined;
  /** The headers of a stream. Default: the headers of server-sent events. */
  readonly streamHeaders?: Readonly<Record<string, string>> | undefined;
}

/** A request to count tokens in a vendor's format. */
export interface CountExchange extends Pick<Exchange, 'model' | 'request'> {
  /**
   * The request for providers that accept the client's format. The field `countField` of their answer contains the
   * number of tokens.
   */
  readonly relay: Pick<Relay, 'accepts' | 'path' | 'headers' | 'body'> & {
    readonly countField: string;
  };
}

/** The dependencies of the endpoints for one vendor's clients. */
export interface VendorRoutesOptions {
  readonly models: Models;
  readonly api: VendorApi;
}

type Input = Pick<RouteInput<unknown>, 'caller' | 'call'>;

export interface VendorApi {
  /**
   * Answers a request. Throws an A2AError if the request is refused or the model fails. If a stream has already begun,
   * the failure is written to the stream instead.
   */
  answer(input: Input, exchange: Exchange): Promise<RouteAnswer | RouteText>;
  /**
   * Runs `work`, and counts it as an answer in progress. `work` gets a signal that is aborted when the client
   * disconnects.
   */
  run<T>(input: Pick<Input, 'call'>, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /**
   * Counts the tokens of a prompt. If a provider has the client's API, this provider counts them. If no provider has
   * this API, or if the provider fails to count them, returns an estimate. Throws `invalidParams` if the request is
   * invalid, or if the provider rejects it.
   */
  countTokens(input: Input, exchange: CountExchange): Promise<number>;
  /** Number of answers in progress. The task handler does not count them, because they are not tasks. */
  readonly running: number;
}

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
};
const JSON_HEADERS = { 'content-type': 'application/json' };

export function createVendorApi({ models }: { readonly models: Models }): VendorApi {
  let running = 0;

  const ended = (): void => void running--;

  const run: VendorApi['run'] = ({ call }, work) => {
    const { signal } = abortable(call);
    running++;
    return unlessDisconnected(work(signal), signal).finally(ended);
  };

  return {
    async answer({ caller, call }, exchange) {
      const { hasTools } = exchange;
      const named = await models.resolve(caller.workspace, exchange.model, 'chat');
      const asked = prepared(named, exchange);
      const { target, request, relay } = asked;
      const { leave, signal } = abortable(call);
      running++;
      try {
        // `models.answer` waits for the first chunk, so an earlier failure can still set the HTTP status.
        const begun = models.answer(target, request, { caller, signal, relay, hasTools });
        const answer = await unlessDisconnected(begun, signal);
        if (exchange.relay.stream)
          return streamed(answer, exchange, { asked, signal, leave, ended });
        const body = await unlessDisconnected(whole(answer, exchange, asked), signal);
        ended();
        return body;
      } catch (error) {
        ended();
        throw error;
      }
    },
    run,
    async countTokens({ caller, call }, { model, request: requestOf, relay }) {
      const target = await models.resolve(caller.workspace, model, 'chat');
      const own = ownProviders(target, relay);
      const request = requestOf(own === undefined);
      let tokens: number | undefined;
      const counting: Relay = {
        ...relay,
        stream: false,
        // Not used, because the answer is not a stream.
        watched: /$^/,
        read(answer) {
          tokens = countIn(answer, relay.countField);
          return { usage: { inputTokens: 0, outputTokens: 0 }, failed: tokens === undefined };
        },
      };
      if (own) {
        await run({ call }, async (signal) => {
          try {
            const options = { caller, signal, relay: counting, free: true };
            const { chunks } = await models.answer(own, request, options);
            for await (const _ of chunks);
          } catch (error) {
            // Other failures are ignored, because not every provider with this API can count tokens.
            if (!(error instanceof A2AError) || error.kind === 'invalidParams') throw error;
          }
        });
      }
      return tokens ?? tokenCounter(target.candidates).prompt(request);
    },
    get running() {
      return running;
    },
  };
}

async function whole(
  { isRelayed, chunks }: AnswerStream,
  exchange: Exchange,
  asked: Prepared,
): Promise<RouteAnswer> {
  if (!isRelayed) return { body: await exchange.whole(translated(chunks), asked) };
  return { headers: JSON_HEADERS, text: await text(raw(chunks, exchange)) };
}

function streamed(
  { isRelayed, chunks, leave: leaveAnswer }: AnswerStream,
  exchange: Exchange,
  call: ReturnType<typeof abortable> & { readonly asked: Prepared; readonly ended: () => void },
): RouteText {
  const { signal, ended } = call;
  const options = {
    signal,
    ended,
    failure: (error: A2AError) => exchange.failure(error),
    left() {
      call.leave();
      leaveAnswer();
    },
  };
  if (isRelayed && !exchange.passed) {
    const pending = exchange.pending && (() => exchange.pending?.());
    const textOf = (chunk: RelayedChunk) => (chunk.kind === 'raw' ? chunk.text : '');
    return {
      headers: SSE_HEADERS,
      chunks: new Frames({ source: chunks, textOf, pending, ...options }),
    };
  }
  const texts =
    isRelayed && exchange.passed
      ? exchange.passed(raw(chunks, exchange))
      : exchange.frames(translated(chunks), call.asked);
  const source = texts[Symbol.asyncIterator]();
  return {
    headers: exchange.streamHeaders ?? SSE_HEADERS,
    chunks: new Frames({ source, textOf: (text) => text, ...options }),
  };
}

async function* raw(
  chunks: AsyncIterable<RelayedChunk>,
  exchange: Pick<Exchange, 'pending'>,
): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    const pending = exchange.pending?.();
    if (pending) await pending;
    if (chunk.kind === 'raw') yield chunk.text;
  }
}

async function* translated(chunks: AsyncIterable<RelayedChunk>): AsyncGenerator<FullChunk> {
  for await (const chunk of chunks) if (chunk.kind !== 'raw') yield chunk;
}

/** Returns a signal that is aborted when the caller's request is aborted, or by `leave`. */
function abortable({ signal }: Call): { readonly signal: AbortSignal; readonly leave: () => void } {
  const own = new AbortController();
  return {
    signal: signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]),
    leave: () => own.abort(new Error('the client has disconnected')),
  };
}

/**
 * Returns the result of `work`. If `work` fails because the client has disconnected, throws `unavailable`, because a
 * disconnection is not an internal error.
 */
async function unlessDisconnected<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted) throw new A2AError('unavailable', 'The client has disconnected');
    throw error;
  }
}

/**
 * Returns the model with only those providers that get the client's request without conversion, or undefined if there
 * are none.
 */
function ownProviders(target: ModelTarget, relay: Pick<Relay, 'accepts'>): ModelTarget | undefined {
  const candidates = target.candidates.filter(({ provider }) => relays(provider, relay));
  return candidates.length > 0 ? { ...target, candidates } : undefined;
}

/**
 * Prepares a call. If all providers can get the client's own request, it is converted without `strict`. If a provider
 * needs the converted request, the request is converted with `strict`. If this conversion fails, only the providers
 * remain that can get the client's own request. If no provider can get it, throws the error of the conversion.
 */
function prepared(target: ModelTarget, exchange: Exchange): Prepared {
  // If the model does not support streaming, a request for a stream cannot be relayed.
  const mayRelay = !exchange.relay.stream || streams(target);
  const own = mayRelay ? ownProviders(target, exchange.relay) : undefined;
  const relay = own && exchange.relay;
  if (own?.candidates.length === target.candidates.length)
    return { target, request: exchange.request(false), relay };
  try {
    return { target, request: exchange.request(true), relay };
  } catch (error) {
    if (own === undefined || !(error instanceof A2AError)) throw error;
    return { target: own, request: exchange.request(false), relay };
  }
}
