/** From a version's parameters to the operation and back. */
import type { Call, StreamOperation, UnaryOperation, WireCodec } from '../protocol/index.ts';
import type { RequestHandler, TaskStream } from '../tasks/index.ts';

type Invoke = (
  handler: RequestHandler,
  codec: WireCodec,
  raw: unknown,
  call: Call,
) => Promise<unknown>;

/** Each by its name, because only so the checker sees that parameters and results belong together. */
const unary: Readonly<Record<UnaryOperation, Invoke>> = {
  async sendMessage(handler, codec, raw, call) {
    const params = codec.decodeParams('sendMessage', raw);
    return codec.encodeResult('sendMessage', await handler.sendMessage(params, call));
  },
  async getTask(handler, codec, raw, call) {
    const params = codec.decodeParams('getTask', raw);
    return codec.encodeResult('getTask', await handler.getTask(params, call));
  },
  async listTasks(handler, codec, raw, call) {
    const params = codec.decodeParams('listTasks', raw);
    return codec.encodeResult('listTasks', await handler.listTasks(params, call));
  },
  async cancelTask(handler, codec, raw, call) {
    const params = codec.decodeParams('cancelTask', raw);
    return codec.encodeResult('cancelTask', await handler.cancelTask(params, call));
  },
  async setPushConfig(handler, codec, raw, call) {
    const params = codec.decodeParams('setPushConfig', raw);
    return codec.encodeResult('setPushConfig', await handler.setPushConfig(params, call));
  },
  async getPushConfig(handler, codec, raw, call) {
    const params = codec.decodeParams('getPushConfig', raw);
    return codec.encodeResult('getPushConfig', await handler.getPushConfig(params, call));
  },
  async listPushConfigs(handler, codec, raw, call) {
    const params = codec.decodeParams('listPushConfigs', raw);
    return codec.encodeResult('listPushConfigs', await handler.listPushConfigs(params, call));
  },
  async deletePushConfig(handler, codec, raw, call) {
    const params = codec.decodeParams('deletePushConfig', raw);
    return codec.encodeResult('deletePushConfig', await handler.deletePushConfig(params, call));
  },
  async getExtendedCard(handler, codec, raw, call) {
    const params = codec.decodeParams('getExtendedCard', raw);
    return codec.encodeResult('getExtendedCard', await handler.getExtendedCard(params, call));
  },
};

/** Runs a unary operation; `raw` and the result are as the codec's version writes them. */
export function invoke(
  handler: RequestHandler,
  codec: WireCodec,
  operation: UnaryOperation,
  raw: unknown,
  call: Call,
): Promise<unknown> {
  return unary[operation](handler, codec, raw, call);
}

/** Starts a stream. `after` is the last event that the client has seen, where it says so. */
export function invokeStream(
  handler: RequestHandler,
  codec: WireCodec,
  operation: StreamOperation,
  raw: unknown,
  after: number | undefined,
  call: Call,
): Promise<TaskStream> {
  if (operation === 'streamMessage') {
    return handler.streamMessage(codec.decodeParams(operation, raw), call, after);
  }
  const params = codec.decodeParams(operation, raw);
  return handler.subscribe(after === undefined ? params : { ...params, after }, call);
}
