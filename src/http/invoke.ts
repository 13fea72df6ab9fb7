/** Runs an operation with parameters and a result in the JSON of the codec's version. */
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
  codec: WireCodec,
  operation: O,
  raw: unknown,
  call: Call,
): Promise<unknown> {
  const params = codec.decodeParams(operation, raw);
  return codec.encodeResult(operation, await service[operation](params, call));
}

/** Starts a stream. `after` is the last event that the client has seen, if it says so. */
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
