/** Everything that was said in a task, in order: the last message is its status's own, until there is another status. */
import type { Message, Task } from '../protocol/index.ts';

export function messagesOf({ history = [], status }: Task): readonly Message[] {
  return status.message ? [...history, status.message] : history;
}
