/**
 * The gRPC binding: the operations of the protocol as methods of `lf.a2a.v1.A2AService` (1.0) and `a2a.v1.A2AService`
 * (0.3), with the health and reflection services.
 *
 *   serve(agent, { grpc: grpcBinding() });
 */
import { isMessage, type Message } from '@bufbuild/protobuf';
import {
  Code,
  type ConnectRouter,
  ConnectError,
  createConnectRouter,
  type HandlerContext,
} from '@connectrpc/connect';
import {
  activeExtensions,
  type AppContext,
  clientOf,
  extensionHeader,
  type GrpcBinding,
  type GrpcContext,
  type GrpcHandler,
  invoke,
  invokeStream,
  lastEventId,
  peerError,
  requestedVersion,
  selectAgent,
  TransportCall,
} from '../http/index.ts';
import {
  A2AError,
  isStream,
  type ProtocolVersion,
  type StreamOperation,
  type UnaryOperation,
} from '../protocol/index.ts';
import { createAdapter } from './adapter.ts';
import { grpcCallOf } from './call.ts';
import {
  isServerStreaming,
  isUnary,
  type ProtoCodec,
  protoCodecOf,
  READ_OPTIONS,
} from './codec/index.ts';
import { grpcError } from './errors.ts';
import { eventEncoder } from './events.ts';
import { addHealth, HEALTH_SERVICE } from './health.ts';
import { addReflection } from './reflection.ts';

/** Makes a gRPC binding for the option `grpc` of `serve()`. */
export function grpcBinding(): GrpcBinding {
  return { handlerFor: createGrpcHandler };
}

function createGrpcHandler(context: GrpcContext): GrpcHandler {
  const { app, maxBodyBytes } = context;
  const router = createConnectRouter({
    // The protocols Connect and gRPC-Web are turned off. Browsers can use these protocols, so the server would have to
    // apply its rules for browsers, such as CORS.
    connect: false,
    grpcWeb: false,
    acceptCompression: [],
    readMaxBytes: maxBodyBytes,
    binaryOptions: READ_OPTIONS,
    requestGate: (call) => admit(app, call, context.ready),
  });
  for (const version of app.versions) addOperations(router, app, protoCodecOf(version));
  addHealth(router, app, context.health);
  addReflection(router, app);
  return createAdapter(router, context);
}

/** Checks and authenticates a call before its message is read. The health service needs no authentication. */
async function admit(
  app: AppContext,
  context: HandlerContext,
  ready: () => Promise<void> | undefined,
): Promise<void> {
  const call = grpcCallOf(context);
  if (context.timeoutMs() !== undefined) {
    // At the deadline, connect itself would still wait for the rest of the request. `expired` answers at once.
    const onAbort = () => isExpired(context) && call.expired();
    context.signal.addEventListener('abort', onAbort, { once: true });
  }
  try {
    app.admission.check(call.request);
    if (context.service.typeName !== HEALTH_SERVICE) {
      call.user = await app.admission.identify(call.request);
    }
    await ready();
  } catch (error) {
    throw failure(app, error, undefined, context);
  }
}

function addOperations(router: ConnectRouter, app: AppContext, codec: ProtoCodec): void {
  const frame = eventEncoder(codec);
  for (const [operation, method] of codec.methods) {
    if (isStream(operation) && isServerStreaming(method)) {
      router.rpc(method, (message, context) =>
        withoutMessages(() => streamed(operation, message, context)),
      );
    } else if (!isStream(operation) && isUnary(method)) {
      router.rpc(method, (message, context) => answered(operation, message, context));
    }
  }

  /** Runs an operation that has one result. */
  async function answered(
    operation: UnaryOperation,
    message: Message,
    context: HandlerContext,
  ): Promise<Message> {
    try {
      const call = await begin(message, context);
      const result = await invoke(app.handler, codec, operation, message, call);
      if (!isMessage(result)) throw new TypeError('the codec returned no message');
      grpcCallOf(context).observed(200);
      return result;
    } catch (error) {
      throw failure(app, error, codec.version, context);
    }
  }

  /** Runs an operation that streams. */
  async function streamed(
    operation: StreamOperation,
    message: Message,
    context: HandlerContext,
  ): Promise<void> {
    const { request, user, send, observed } = grpcCallOf(context);
    let release: (() => void) | undefined;
    try {
      release = app.streams.acquire(clientOf(user, request));
      const call = await begin(message, context);
      const after = lastEventId(request, undefined);
      const stream = await invokeStream(app.handler, codec, operation, message, after, call);
      const onAbort = () => stream.close();
      context.signal.addEventListener('abort', onAbort, { once: true });
      if (context.signal.aborted) onAbort();
      observed(200);
      await send(stream, frame, context.responseHeader);
      context.signal.throwIfAborted();
      if (stream.ended === 'lost' || stream.ended === 'shutdown') {
        const text = 'The stream was interrupted. Subscribe to the task to continue';
        throw new A2AError('unavailable', text, { retryAfterSeconds: 1 });
      }
    } catch (error) {
      throw failure(app, error, codec.version, context);
    } finally {
      release?.();
    }
  }

  /** Checks the requested version, selects the agent by the tenant, and chooses the extensions of a call. */
  async function begin(message: Message, context: HandlerContext): Promise<TransportCall> {
    const { request, user } = grpcCallOf(context);
    const { version, service } = codec;
    const asked = requestedVersion(request, undefined, app.versions);
    if (asked !== undefined && asked !== version) {
      throw new A2AError(
        'versionNotSupported',
        `The service ${service.typeName} supports only A2A ${version}, and the request asks for ${asked}`,
        { info: { supported: version } },
      );
    }
    const tenant: unknown = app.mounts && Reflect.get(message, 'tenant');
    const selected =
      typeof tenant === 'string' && tenant !== ''
        ? await selectAgent(app.mounts, tenant, request, user)
        : undefined;
    const offered = selected ? (selected.agent.profile.extensions ?? []) : app.extensions;
    const { extensionOf } = app;
    const extensions = activeExtensions(request, { extensions: offered, extensionOf });
    const headers = extensionHeader(version, extensions);
    for (const name in headers) context.responseHeader.set(name, headers[name]!);
    const chosen = selected ?? { request, user };
    // The signal is also aborted at the deadline of the call.
    return new TransportCall(chosen.request, chosen.user, version, extensions, context.signal);
  }
}

/**
 * Makes the stream that connect gets. `run` writes the messages directly to the response, so this stream contains no
 * messages, only an end or an error.
 */
function withoutMessages(run: () => Promise<void>): AsyncIterable<never> {
  const next = async (): Promise<IteratorResult<never, undefined>> => {
    await run();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

/** Returns the status of a failed call. After the deadline, the status is DEADLINE_EXCEEDED. */
function failure(
  app: AppContext,
  error: unknown,
  version: ProtocolVersion | undefined,
  context: HandlerContext,
): ConnectError {
  const { observed } = grpcCallOf(context);
  if (error instanceof ConnectError) return error;
  if (isExpired(context)) {
    observed(504);
    return ConnectError.from(context.signal.reason);
  }
  const known = peerError(app, error);
  observed(known.httpStatus);
  return grpcError(known, version);
}

/** Returns whether the deadline of a call has passed. */
function isExpired({ signal: { reason } }: HandlerContext): boolean {
  return reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
}
