/**
 * Lets only those answers through that were asked for.
 *
 * The SDK writes the id of any other to standard error as it is: a peer that makes ids up would write to the terminal of
 * whoever sits there. An answer to a request that was withdrawn comes late as a matter of course.
 */
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { isObject } from '../base/index.ts';

export function askedOnly({ readable, writable }: Stream): Stream {
  const asked = new Set<unknown>();
  const sent = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if ('method' in message) {
        if ('id' in message) asked.add(message.id);
        else if (message.method === '$/cancel_request') asked.delete(requestIn(message.params));
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
  // What breaks on one side is told on the other.
  sent.readable.pipeTo(writable).catch(() => {});
  return { readable: readable.pipeThrough(heard), writable: sent.writable };
}

/** A peer may send anything: what is neither is the SDK's to refuse. */
function answerIn(message: unknown): { readonly id: unknown } | undefined {
  if (!isObject(message) || 'method' in message || !('id' in message)) return undefined;
  return { id: message['id'] };
}

function requestIn(params: unknown): unknown {
  return isObject(params) ? params['requestId'] : undefined;
}
