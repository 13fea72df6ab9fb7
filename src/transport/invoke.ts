/** From a version's parameters to the operation and back. */
import type { Call, Operation, WireCodec } from '../protocol/index.ts';
import type { RequestHandler, TaskStream } from '../server/index.ts';

export type StreamOperation = 'streamMessage' | 'subscribe';

export function isStream(operation: Operation): operation is StreamOperation {
  return operation === 'streamMessage' || operation === 'subscribe';
}

/** Runs a unary operation; `raw` and the result are as the codec's version writes them. */
export async function invoke(
  handler: RequestHandler,
  codec: WireCodec,
  operation: Exclude<Operation, StreamOperation>,
  raw: unknown,
  call: Call,
): Promise<unknown> {
  switch (operation) {
    case 'sendMessage': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.sendMessage(params, call));
    }
    case 'getTask': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.getTask(params, call));
    }
    case 'listTasks': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.listTasks(params, call));
    }
    case 'cancelTask': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.cancelTask(params, call));
    }
    case 'setPushConfig': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.setPushConfig(params, call));
    }
    case 'getPushConfig': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.getPushConfig(params, call));
    }
    case 'listPushConfigs': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.listPushConfigs(params, call));
    }
    case 'deletePushConfig': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.deletePushConfig(params, call));
    }
    case 'getExtendedCard': {
      const params = codec.decodeParams(operation, raw);
      return codec.encodeResult(operation, await handler.getExtendedCard(params, call));
    }
  }
}

/** Starts a stream. `after` is the last event that the client has seen, where it says so. */
export async function invokeStream(
  handler: RequestHandler,
  codec: WireCodec,
  operation: StreamOperation,
  raw: unknown,
  after: number | undefined,
  call: Call,
): Promise<TaskStream> {
  if (operation === 'streamMessage') {
    return handler.streamMessage(codec.decodeParams(operation, raw), call);
  }
  const params = codec.decodeParams(operation, raw);
  return handler.subscribe(after === undefined ? params : { ...params, after }, call);
}
