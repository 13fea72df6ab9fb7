/** What a run came to, for those who do not want to watch. */
import { contentText } from '../content.ts';
import { isFinalResponse, type Event, type EventError, type Question } from '../event.ts';

export interface RunResult {
  readonly runId: string;
  /** The last answer of an agent. */
  readonly text: string;
  /** What the run waits for. */
  readonly questions: readonly Question[];
  /** The run has failed. */
  readonly error?: EventError;
}

/** Waits for the end of an iteration: `await resultOf(runner.resume(…))`. */
export async function resultOf(events: AsyncIterable<Event>): Promise<RunResult> {
  let runId = '';
  let text = '';
  let error: EventError | undefined;
  const questions = new Map<string, Question>();
  for await (const event of events) {
    runId = event.runId;
    for (const question of event.actions.questions ?? []) questions.set(question.id, question);
    for (const { questionId } of event.actions.answers ?? []) questions.delete(questionId);
    if (event.error) error = event.error;
    if (isFinalResponse(event)) text = contentText(event.content);
  }
  return { runId, text, questions: [...questions.values()], ...(error && { error }) };
}
