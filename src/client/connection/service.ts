/**
 * Implements an agent's operations over HTTP, in the binding and version of its endpoint. The transport is a parameter,
 * because most clients use `fetch`, but the gateway uses undici's dispatcher.
 */
import {
  A2AError,
  mapOperations,
  type AgentService,
  type Call,
  type ParamsOf,
  type ProtocolVersion,
  type ResultOf,
  type StreamEvent,
  type StreamItem,
  type StreamOperation,
  type UnaryOperation,
  type WireCodec,
} from '../../protocol/index.ts';
import { createCoderAgentReader } from '../../protocol/development-tool/index.ts';
import type { Ask, HttpBinding } from './binding.ts';
import {
  errorOfStatus,
  mediaType,
  parseJson,
  withRetryAfter,
  type ResponseHead,
} from './request.ts';

export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  /** The headers, with names in lower case. They override the headers that the transport adds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface WholeResponse {
  readonly head: ResponseHead;
  readonly text: string;
}

export interface EventDecoding {
  /** Decodes an SSE event. If the event contains an error, throws this error. */
  readonly decode: (data: string, type: string) => StreamEvent;
  /** Whether a stream without events is an error. */
  readonly expectsEvent: boolean;
}

/** Sends requests. Applies timeouts, and limits on the size of responses. */
export interface Transport {
  whole(request: OutgoingRequest, call: Call): Promise<WholeResponse>;
  /**
   * Waits for the first event of a stream, because this event may be an error. Resolves with a whole response if the
   * server does not answer with a stream.
   */
  stream(
    request: OutgoingRequest,
    source: EventDecoding,
    call: Call,
  ): Promise<AsyncIterable<StreamItem> | WholeResponse>;
}

export interface ServiceOptions {
  readonly codec: WireCodec;
  readonly binding: HttpBinding;
  readonly transport: Transport;
  /** URIs of the extensions to activate in every request. */
  readonly extensions?: readonly string[] | undefined;
}

const JSON_TYPES = 'application/json, application/a2a+json';

/** Sends a request and returns the result, which is not decoded yet. If the response is an error, throws this error. */
export async function askOnce(options: ServiceOptions, asked: Ask, call: Call): Promise<unknown> {
  const { binding, transport } = options;
  const response = await transport.whole(requestOf(options, asked, call, JSON_TYPES), call);
  return resultIn(binding, response, asked);
}

function requestOf(
  { codec, binding, extensions }: ServiceOptions,
  { url, method, body }: Ask,
  call: Call,
  accept: string,
): OutgoingRequest {
  const headers = { ...protocolHeaders(codec.version, call, extensions), accept };
  if (body === undefined) return { url, method, headers, body };
  const typed = { ...headers, 'content-type': binding.contentType };
  return { url, method, headers: typed, body: JSON.stringify(body) };
}

function resultIn(binding: HttpBinding, { head, text }: WholeResponse, asked: Ask): unknown {
  if (text === '' && head.ok) return null;
  // Some servers send JSON as text/plain, because Go guesses the type if the server does not set it.
  if (!mediaType(head).endsWith('json') && !/^\s*[{[]/.test(text)) throw errorOfStatus(head);
  let body: unknown;
  try {
    body = parseJson(text);
  } catch (error) {
    throw head.ok ? error : errorOfStatus(head);
  }
  try {
    return binding.result(body, head, asked);
  } catch (error) {
    throw error instanceof A2AError ? withRetryAfter(error, head) : error;
  }
}

/** Makes the service. Nothing is sent before the first call. */
export function createHttpService(options: ServiceOptions): AgentService {
  const { codec, binding, transport } = options;
  const decode = (data: string, type: string): StreamEvent =>
    codec.decodeEvent(binding.event(parseJson(data), type));

  function unary<O extends UnaryOperation>(operation: O) {
    return async (params: ParamsOf<O>, call: Call = {}): Promise<ResultOf<O>> =>
      codec.decodeResult(operation, await askOnce(options, binding.ask(operation, params), call));
  }

  /** Opens a stream. If the server does not support the route, tries the operation's other HTTP method. */
  async function open(
    operation: StreamOperation,
    params: ParamsOf<StreamOperation>,
    call: Call,
  ): Promise<AsyncIterable<StreamItem>> {
    const read = createCoderAgentReader();
    const source: EventDecoding = {
      decode: (data, type) => read(decode(data, type)),
      expectsEvent: operation === 'streamMessage',
    };
    let refusal: unknown;
    let ask: Ask | undefined = binding.ask(operation, params);
    for (; ask; ask = ask.other) {
      const sent = requestOf(options, ask, call, 'text/event-stream');
      const opened = await transport.stream(sent, source, call);
      try {
        const items =
          'head' in opened
            ? once({ event: codec.decodeEvent(resultIn(binding, opened, ask)) })
            : opened;
        ask.prefer?.();
        return items;
      } catch (error) {
        const unknown = 'head' in opened && isUnknownRoute(error, opened.head, ask);
        // If the server knows neither method, the error of the first attempt is thrown. The first attempt usually uses
        // the method that the specification prefers.
        if (!unknown || refusal === undefined) refusal = error;
        if (!unknown) break;
      }
    }
    throw refusal;
  }

  function stream<O extends StreamOperation>(operation: O) {
    return (params: ParamsOf<O>, call: Call = {}): Promise<AsyncIterable<StreamItem>> => {
      if (!('after' in params)) return open(operation, params, call);
      const { after, ...rest } = params as ParamsOf<'subscribe'>;
      return open(operation, rest, resumed(call, after));
    };
  }

  return withFirstPushConfig(mapOperations({ unary, stream }));
}

/** Returns the headers of the protocol for a call. `always` are the extensions that every call activates. */
export function protocolHeaders(
  version: ProtocolVersion,
  { headers, extensions = [] }: Call,
  always: readonly string[] = [],
): Record<string, string> {
  const out: Record<string, string> = { ...headers, 'a2a-version': version };
  const name = version === '0.3' ? 'x-a2a-extensions' : 'a2a-extensions';
  if (always.length > 0) out[name] = [...new Set([...always, ...extensions])].join(', ');
  else if (extensions.length > 0) out[name] = extensions.join(', ');
  return out;
}

/** Wraps a service so that `getPushConfig` without an id returns the task's first configuration. */
export function withFirstPushConfig(service: AgentService): AgentService {
  return {
    ...service,
    async getPushConfig(params, call) {
      if (params.pushNotificationConfigId !== undefined) return service.getPushConfig(params, call);
      // The id may be omitted only in 0.3, and servers of 0.3 differ in the configuration that they then return. So the
      // list of configurations is requested instead.
      const [first] = await service.listPushConfigs(params, call);
      if (!first) throw new A2AError('taskNotFound', 'The task has no push configuration');
      return first;
    },
  };
}

/**
 * Returns whether the error may mean that the server does not have this route. If so, the operation's other HTTP method
 * should be tried. `taskNotFound` may mean this too, because a server may treat a GET of `/tasks/t1:subscribe` as a
 * request for the task `t1:subscribe`.
 */
function isUnknownRoute(error: unknown, { status }: ResponseHead, { method, other }: Ask): boolean {
  if (!(error instanceof A2AError)) return false;
  if (status === 405 || error.kind === 'methodNotFound') return true;
  if (status === 501) return error.detail.data === undefined;
  return error.kind === 'taskNotFound' && method === 'GET' && other !== undefined;
}

export async function* once<Item>(item: Item): AsyncGenerator<Item> {
  yield item;
}

/** Returns the call for a stream that continues after the sequence number `after`. Without `after`, returns `call`. */
export function resumed(call: Call, after: unknown): Call {
  if (typeof after !== 'number') return call;
  return { ...call, headers: { ...call.headers, 'last-event-id': String(after) } };
}
