/**
 * Drops responses to requests that were never sent, or were withdrawn.
 *
 * The SDK writes the id of an unexpected response to standard error without escaping it. So a peer could invent ids to
 * write escape sequences to the terminal. Late responses to withdrawn requests are normal.
 */
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { isObject } from '../base/index.ts';

export function askedOnly({ readable, writable }: Stream): Stream {
  const asked = new Set<unknown>();
  const sent = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if ('method' in message) {
        if ('id' in message) asked.add(message.id);
        else if (message.method === '$/cancel_request') {
          asked.delete(isObject(message.params) ? message.params['requestId'] : undefined);
        }
      }
      controller.enqueue(message);
    },
  });
  const heard = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      const answer = answerIn(message);
      if (!answer || asked.delete(answer.id)) controller.enqueue(message);
    },
  });
  // An error of `writable` also reaches the writer of `sent`, so it is not reported here.
  sent.readable.pipeTo(writable).catch(() => {});
  return { readable: readable.pipeThrough(heard), writable: sent.writable };
}

/**
 * Returns the id of a response, or undefined for any other message. The SDK validates other messages. The id of an
 * invalid response may be missing.
 */
function answerIn(message: unknown): { readonly id: unknown } | undefined {
  if (!isObject(message) || 'method' in message) return undefined;
  const isResponse = ['id', 'result', 'error'].some((name) => name in message);
  return isResponse ? { id: message['id'] } : undefined;
}
