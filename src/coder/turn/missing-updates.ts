/**
 * Finds updates that are missing in a task's log. The process stored them in the session, but died before it wrote them
 * to the log.
 */
import type { Question } from '../../agent/index.ts';
import {
  hasEnded,
  readMessage,
  textPlace,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { textOf } from '../../protocol/index.ts';
import type { StatusEvent } from '../../tasks/index.ts';
import { requestOf } from '../approval/confirmation-request.ts';
import type { AnswerText } from './answer-text.ts';

/**
 * Returns a function that must be called with each update of the run, in order. It returns a list with the update if
 * the update is missing in the log, or else an empty list. For a text, the update contains only the missing part.
 * `calls` are the calls in the log. `questions` are the open questions of the session.
 */
export function missingUpdates(
  calls: ReadonlyMap<string, ToolCall>,
  questions: readonly Question[],
  answer: AnswerText,
): (event: StatusEvent) => StatusEvent[] {
  const open = new Set(questions.map((question) => requestOf(question).correlationId));

  function isMissing(call: ToolCall): boolean {
    const { tool_call_id, correlationId } = call;
    const told = calls.get(tool_call_id);
    if (hasEnded(call)) return told === undefined || !hasEnded(told);
    return correlationId === undefined ? told === undefined : open.has(correlationId);
  }

  return (event) => {
    const { message } = event;
    if (typeof message !== 'object') return [];
    const place = textPlace(message);
    if (place) {
      const text = answer.unsent(textOf(message.parts), place.isLast);
      if (text === undefined) return [];
      const messageId = answer.next(place.isLast);
      return [{ ...event, message: { ...message, messageId, parts: [{ kind: 'text', text }] } }];
    }
    const [fact] = readMessage(message);
    if (fact?.kind !== 'call' || !isMissing(fact.call)) return [];
    answer.pause();
    return [event];
  };
}
