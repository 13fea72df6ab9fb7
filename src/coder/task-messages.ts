/** What was said in a task. */
import { ToolCall } from '../protocol/development-tool.ts';
import type { Message, Task } from '../protocol/index.ts';

/** Everything, in order: the last message is its status's own, until there is another status. */
export function messagesOf({ history = [], status }: Task): readonly Message[] {
  return status.message ? [...history, status.message] : history;
}

/** The call that a message of the agent is about. */
export function callIn(message: Message | undefined): ToolCall | undefined {
  const [part] = message?.role === 'agent' ? message.parts : [];
  return part?.kind === 'data' ? ToolCall.safeParse(part.data).data : undefined;
}
