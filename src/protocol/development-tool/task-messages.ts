/** What was said in a task. */
import { ToolCall } from './tool-call.ts';
import type { Message } from '../message.ts';
import type { Task } from '../task.ts';

/** Everything, in order: the last message is its status's own, until there is another status. */
export function messagesOf({ history = [], status }: Task): readonly Message[] {
  return status.message ? [...history, status.message] : history;
}

/** The call that a message of the agent is about. */
export function callIn(message: Message | undefined): ToolCall | undefined {
  const [part] = message?.role === 'agent' ? message.parts : [];
  return part?.kind === 'data' ? ToolCall.safeParse(part.data).data : undefined;
}
