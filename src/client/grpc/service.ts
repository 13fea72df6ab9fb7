/** Implements an agent's operations over gRPC. Loaded only when gRPC is used, because it needs additional packages. */
import type { Message } from '@bufbuild/protobuf';
import { Http2SessionManager } from '@connectrpc/connect-node';
import type { NetworkGuard } from '../../base/net/index.ts';
import { isServerStreaming, isUnary, protoCodecOf } from '../../grpc/codec/index.ts';
import {
  A2AError,
  type AgentService,
  type Call,
  mapOperations,
  METHODS,
  type Operation,
  type ParamsOf,
  type ResultOf,
  type StreamItem,
  type StreamOperation,
  type UnaryOperation,
} from '../../protocol/index.ts';
import { createCoderAgentReader } from '../../protocol/development-tool/index.ts';
import { refuseTenant, subjectOf, withTenant } from '../connection/binding.ts';
import type { ChosenEndpoint } from '../connection/discover.ts';
import { ConnectionError } from '../connection/errors.ts';
import { begunStream, type HttpOptions } from '../connection/http.ts';
import {
  type ByteBudget,
  headersFor,
  type Lifetime,
  requestLifetime,
} from '../connection/request.ts';
import { once, protocolHeaders, resumed, withFirstPushConfig } from '../connection/service.ts';
import { errorOfCall } from './errors.ts';
import { exchangeOver, type GrpcExchange } from './exchange.ts';

/** The options of a connection over gRPC. `fetch` is not used. */
export interface GrpcOptions extends HttpOptions {
  /** Checks the addresses to which connections are made. Undefined if every address is allowed. */
  readonly guard?: NetworkGuard | undefined;
  /** Returns the limit of the bytes that are received for a call. It replaces `budget`. */
  readonly budgetOf?: ((call: Call) => ByteBudget) | undefined;
}

const TIMEOUT_MS = 300_000;
const IDLE_MS = 60_000;

/** Makes the service. Nothing is sent before the first call. */
export function grpcService(endpoint: ChosenEndpoint, options: GrpcOptions = {}): AgentService {
  const { url, version, tenant } = endpoint;
  const { timeoutMs = TIMEOUT_MS, maxResponseBytes, maxEventBytes } = options;
  const codec = protoCodecOf(version);
  const sessions = sessionsFor(url, options);
  const budgetOf = options.budgetOf ?? (() => options.budget);

  function tenanted<P extends object>(params: P): P {
    if (version === '0.3') refuseTenant(params);
    return withTenant(params, tenant);
  }

  /** Runs a part of a call. Converts its errors to the errors of the other bindings. */
  async function during<Result>(
    lifetime: Lifetime,
    operation: Operation,
    params: object,
    exchange: GrpcExchange,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      options.guard?.parse(url);
      return await work();
    } catch (error) {
      const subject = subjectOf(operation, { ...params });
      throw lifetime.explain(error, (cause) => errorOfCall(cause, url, subject, exchange.isSent()));
    }
  }

  function headers(operation: Operation, call: Call, lifetime: Lifetime): Promise<Headers> {
    const ownHeaders = protocolHeaders(version, call, options.extensions);
    const path = `${codec.service.typeName}/${codec.methods.get(operation)?.name ?? ''}`;
    const target = new URL(path, url.endsWith('/') ? url : `${url}/`).href;
    return headersFor(
      { url: target, method: 'POST', headers: options.headers, ownHeaders },
      lifetime,
    );
  }

  function lifetimeOf({ signal }: Call, problem: string): Lifetime {
    return requestLifetime([options.signal, signal], timeoutMs, `${url} ${problem}`);
  }

  function unary<O extends UnaryOperation>(operation: O) {
    return async (given: ParamsOf<O>, call: Call = {}): Promise<ResultOf<O>> => {
      const params = tenanted(given);
      const method = codec.methods.get(operation);
      if (!isUnary(method)) throw notSupported(version);
      const lifetime = lifetimeOf(call, 'did not answer');
      const ask = () => {
        const limits = { budget: budgetOf(call), readMaxBytes: maxResponseBytes };
        const exchange = exchangeOver(url, sessions, method.output, limits);
        const { transport } = exchange;
        return during(lifetime, operation, params, exchange, async () => {
          const header = await headers(operation, call, lifetime);
          const message = codec.encodeParams(operation, params);
          const { signal } = lifetime;
          const response = await transport.unary(method, signal, undefined, header, message);
          return codec.decodeResult(operation, response.message);
        });
      };
      return repeated(operation, ask).finally(() => lifetime.release());
    };
  }

  /** Repeats a failed request once if that is safe, because an open connection may have ended since the last call. */
  async function repeated<Result>(
    operation: Operation,
    ask: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await ask();
    } catch (error) {
      const reason = error instanceof ConnectionError ? error.reason : undefined;
      const isRead = METHODS[operation].access === 'read';
      if (reason === 'unreachable' || (reason === 'broken' && isRead)) return ask();
      throw error;
    }
  }

  /** Opens a stream. Waits for its first event, because the agent may refuse the request. */
  async function open(
    operation: StreamOperation,
    params: ParamsOf<StreamOperation>,
    call: Call,
  ): Promise<AsyncIterable<StreamItem>> {
    const method = codec.methods.get(operation);
    if (!isServerStreaming(method)) throw notSupported(version);
    const lifetime = lifetimeOf(call, 'sent no event');
    const limits = { budget: budgetOf(call), readMaxBytes: maxEventBytes };
    const exchange = exchangeOver(url, sessions, method.output, limits);
    try {
      const messages = await during(lifetime, operation, params, exchange, async () => {
        const header = await headers(operation, call, lifetime);
        const input = once(codec.encodeParams(operation, params));
        return exchange.transport.stream(method, lifetime.signal, undefined, header, input);
      });
      const received = messages.message[Symbol.asyncIterator]();
      const receive = () => during(lifetime, operation, params, exchange, () => received.next());
      const items = events(receive, lifetime);
      // A stream that resumes may have no new event for a long time, so there is no timeout for its first event.
      if ('after' in params) lifetime.idleTimeout(0, Error);
      const expectsEvent = operation === 'streamMessage';
      // After the first event, HTTP/2 pings show whether a silent connection is alive (`sessionsFor`).
      return await begunStream(items, { url, lifetime, expectsEvent, idleTimeoutMs: 0 });
    } catch (error) {
      lifetime.release();
      throw error;
    }
  }

  async function* events(
    receive: () => Promise<IteratorResult<Message>>,
    lifetime: Lifetime,
  ): AsyncGenerator<StreamItem> {
    const read = createCoderAgentReader();
    let ended = false;
    let begun = false;
    try {
      for (;;) {
        const next = await receive();
        if (next.done) {
          ended = true;
          return;
        }
        const { event, seq } = codec.decodeEvent(next.value);
        begun = true;
        yield { event: read(event), seq };
      }
    } catch (error) {
      // A server that stops ends its streams with `unavailable`. The client can subscribe to the task again.
      const isInterrupted = begun && error instanceof A2AError && error.kind === 'unavailable';
      if (!isInterrupted) throw error;
      throw new ConnectionError('broken', `the stream of ${url} broke off`, { cause: error });
    } finally {
      if (ended) lifetime.release();
      else lifetime.leave();
    }
  }

  function stream<O extends StreamOperation>(operation: O) {
    return async (given: ParamsOf<O>, call: Call = {}): Promise<AsyncIterable<StreamItem>> => {
      const params = tenanted(given);
      const continued = resumed(call, 'after' in params ? params.after : undefined);
      return repeated(operation, () => open(operation, params, continued));
    };
  }

  return withFirstPushConfig(mapOperations({ unary, stream }));
}

function notSupported(version: string): A2AError {
  return new A2AError('methodNotFound', `A2A ${version} has no such method over gRPC`);
}

/**
 * Makes the connections to the agent. They send pings, except if `idleTimeoutMs` is 0. An abort of the signal closes
 * them.
 */
function sessionsFor(url: string, options: GrpcOptions): Http2SessionManager {
  const { guard, signal, idleTimeoutMs = IDLE_MS } = options;
  const pings = idleTimeoutMs > 0 ? { pingIntervalMs: idleTimeoutMs / 2 } : {};
  const sessions = new Http2SessionManager(url, pings, guard ? { lookup: guard.lookup } : {});
  signal?.addEventListener('abort', () => sessions.abort(), { once: true });
  return sessions;
}
