/** The short description of an event of a stream, for a list of events. */
import { isObject } from '../../../base/index.ts';
import { jsonIn, jsonOf } from '../server/json.ts';

const MAX_NAME = 160;

/**
 * Returns a short description of an event of either protocol version: its kind, and its state or its artifact's parts.
 * Describes a JSON-RPC error by its code and its message. Returns the start of the data if it is not a JSON object.
 */
export function nameOfEvent(data: string): string {
  return describe(data).slice(0, MAX_NAME);
}

function describe(data: string): string {
  const body = jsonIn(data);
  if (!isObject(body)) return data;
  const { result, error } = body;
  if (isObject(error) && result === undefined) {
    const { code, message } = error;
    return `error ${typeof code === 'number' ? code : ''} ${typeof message === 'string' ? message : ''}`;
  }
  const event = isObject(result) ? result : body;
  const [first] = Object.entries(event);
  const [kind, inner] =
    typeof event['kind'] === 'string' ? [event['kind'], event] : [first?.[0] ?? '', first?.[1]];
  const status = isObject(inner) && isObject(inner['status']) ? inner['status'] : {};
  const artifact = isObject(inner) && isObject(inner['artifact']) ? inner['artifact'] : undefined;
  const detail = artifact ? jsonOf(artifact['parts']) : status['state'];
  return `${kind} ${typeof detail === 'string' ? detail : ''}`;
}
