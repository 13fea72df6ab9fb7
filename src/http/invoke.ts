/** Runs an operation. Its parameters and its result are in the format of the codec. */
import type {
  Call,
  StreamOperation,
  UnaryOperation,
  UnaryService,
  WireCodec,
} from '../protocol/index.ts';
import type { RequestHandler, TaskStream } from '../tasks/index.ts';

export async function invoke<O extends UnaryOperation>(
  service: Pick<UnaryService, O>,
  codec: Pick<WireCodec, 'decodeParams' | 'encodeResult'>,
  operation: O,
  raw: unknown,
  call: Call,
): Promise<unknown> {
  const params = codec.decodeParams(operation, raw);
  return codec.encodeResult(operation, await service[operation](params, call));
}

/** Sends a message, and returns the JSON of the result. */
export async function invokeSend(
  service: Pick<UnaryService, 'sendMessage'>,
  codec: Pick<WireCodec, 'decodeParams' | 'encodeResult' | 'eventText'>,
  raw: unknown,
  call: Call,
): Promise<string> {
  const result = await service.sendMessage(codec.decodeParams('sendMessage', raw), call);
  return codec.eventText?.(result) ?? JSON.stringify(codec.encodeResult('sendMessage', result));
}

/**
 * Starts a stream. `after` is the sequence number of the last event that the client has received, or undefined if the
 * number is unknown.
 */
export function invokeStream(
  handler: RequestHandler,
  codec: Pick<WireCodec, 'decodeParams'>,
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
