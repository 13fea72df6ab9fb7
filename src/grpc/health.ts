/** The standard health service of gRPC. It needs no authentication, like `/readyz`, and has the same result. */
import { fromJson, type Message, toJson } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { isObject, rest } from '../base/index.ts';
import {
  type AppContext,
  clientOf,
  peerError,
  type ServerHealth,
  StreamCounter,
} from '../http/index.ts';
import { grpcCallOf } from './call.ts';
import { isServerStreaming, isUnary, serviceSchema } from './codec/index.ts';
import { grpcError } from './errors.ts';

export const HEALTH_SERVICE = 'grpc.health.v1.Health';

/** How often a watched status is read. */
const WATCH_MS = 2000;
/**
 * The limits of watchers. They are not counted with the other streams, because they need no authentication and could
 * use up the streams of all clients.
 */
const WATCHERS = { maxStreams: 256, maxStreamsPerClient: 8 };

/** Adds the health service. It knows the services that the router has at this point. */
export function addHealth(router: ConnectRouter, app: AppContext, health: ServerHealth): void {
  const known = new Set(['', ...router.handlers.map(({ service }) => service.typeName)]);
  const methods = serviceSchema(HEALTH_SERVICE).method;
  const { check, watch } = methods;
  const watchers = new StreamCounter(WATCHERS);
  if (!isUnary(check) || !isServerStreaming(watch)) {
    throw new Error(`${HEALTH_SERVICE} has other methods than expected: run scripts/proto.ts`);
  }

  async function statusOf(service: string): Promise<string> {
    if (!known.has(service)) return 'SERVICE_UNKNOWN';
    const { status } = await health.readiness();
    return status === 'ready' ? 'SERVING' : 'NOT_SERVING';
  }

  const serviceIn = (message: Message): string => {
    const raw = toJson(check.input, message);
    return isObject(raw) && typeof raw.service === 'string' ? raw.service : '';
  };

  router.rpc(check, async (message) => {
    const status = await statusOf(serviceIn(message));
    if (status === 'SERVICE_UNKNOWN') throw new ConnectError('unknown service', Code.NotFound);
    return fromJson(check.output, { status });
  });

  router.rpc(watch, async function* (message: Message, context: HandlerContext) {
    const { request, user, observed } = grpcCallOf(context);
    let release: (() => void) | undefined;
    try {
      release = watchers.acquire(clientOf(user, request));
      observed(200);
      const service = serviceIn(message);
      let last: string | undefined;
      while (!context.signal.aborted) {
        const status = await statusOf(service);
        if (status !== last) yield fromJson(watch.output, { status });
        last = status;
        await rest(WATCH_MS, context.signal);
      }
      context.signal.throwIfAborted();
    } catch (error) {
      if (error instanceof ConnectError) throw error;
      throw grpcError(peerError(app, error));
    } finally {
      release?.();
    }
  });
}
