/** The form in which the message of a client is stored. */
import { isObject } from '../base/index.ts';
import { type Message, type Metadata, SOURCE_KEY } from '../protocol/index.ts';
import { sameJson } from './store/same-json.ts';

/**
 * Returns the message in the form in which it is stored. Only the server may set SOURCE_KEY, so a client's value is
 * removed.
 */
export function receivedMessage(
  message: Message,
  { taskId, contextId }: { taskId: string; contextId: string },
  source?: Metadata,
): Message {
  const received: Message = { ...message, taskId, contextId };
  if (source === undefined && message.metadata?.[SOURCE_KEY] === undefined) return received;
  const { [SOURCE_KEY]: _, ...metadata } = message.metadata ?? {};
  received.metadata = source === undefined ? metadata : { ...metadata, [SOURCE_KEY]: source };
  return received;
}

/**
 * Returns whether a message has the same content as the stored message. The server has added the ids of the task to the
 * stored message, so the client may omit them.
 */
export function sameContent(message: Message, said: Message): boolean {
  const source: unknown = said.metadata?.[SOURCE_KEY];
  const filled = receivedMessage(
    message,
    { taskId: said.taskId ?? '', contextId: said.contextId ?? '' },
    isObject(source) ? source : undefined,
  );
  const idsFit =
    (message.taskId === undefined || message.taskId === said.taskId) &&
    (message.contextId === undefined || message.contextId === said.contextId);
  return idsFit && sameJson(filled, said);
}
