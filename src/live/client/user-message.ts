import { uuidv7, type Message, type Part } from '../../protocol/index.ts';

/** Returns a user message with this content. */
export function userMessage(content: string | readonly Part[], messageId = uuidv7()): Message {
  const parts: Part[] =
    typeof content === 'string' ? [{ kind: 'text', text: content }] : [...content];
  return { kind: 'message', messageId, role: 'user', parts };
}
