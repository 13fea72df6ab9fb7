/** Functions that the endpoints for several vendors use to convert answers. */
import { isObject } from '../../../base/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import type { FullChunk } from '../chunks.ts';

/** Returns the tool call in the chunk. Throws if the chunk is a file, or if the arguments of the call are invalid. */
export function callOf(
  chunk: Extract<FullChunk, { kind: 'blob' | 'function-call' }>,
  model: string,
): Extract<FullChunk, { kind: 'function-call' }> {
  if (chunk.kind === 'blob') {
    const message = `The model ${model} answered with a file, which this API cannot return: send the request as a task`;
    throw new A2AError('upstreamFailed', message);
  }
  if (chunk.problem === undefined) return chunk;
  const message = `The model ${model} called ${chunk.name} with arguments that are not JSON: try again`;
  throw new A2AError('upstreamFailed', message);
}

/**
 * Returns Google's thought signature, or undefined if there is none. `own` is one value of the `provider` object of a
 * part, for example the value of `google`. Google requires the signature in the next request.
 */
export function thoughtSignatureIn(own: unknown): string | undefined {
  const signature = fieldIn(own, 'thoughtSignature');
  return typeof signature === 'string' ? signature : undefined;
}

/** Returns a vendor's token count, or undefined if it is not a valid number. Budgets depend on this check. */
export function countIn(value: unknown, field: string): number | undefined {
  const count = fieldIn(value, field);
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** Returns a field of an object, or undefined if the value is not an object. */
export function fieldIn(value: unknown, field: string): unknown {
  return isObject(value) ? value[field] : undefined;
}

/** Returns a server-sent event. Its name is the event's type. */
export function namedEvent(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
