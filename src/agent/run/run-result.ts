/** The result of a run, for callers that do not need its events. */
import type { Event, EventError, Question } from '../event.ts';
import { FinalText } from './final-text.ts';

/** The result of `runToEnd` and `resultOf`. */
export interface RunResult {
  readonly runId: string;
  /**
   * The last answer of the run. If agents ran in parallel, it consists of the last answer of each agent, separated by
   * empty lines.
   */
  readonly text: string;
  /** The open questions of the run. */
  readonly questions: readonly Question[];
  /** The error of a failed run, or undefined if the run has not failed. */
  readonly error?: EventError;
}

/**
 * Reads all events until the run ends or waits for a person, and returns the result.
 *
 *   const { text } = await resultOf(runner.resume({ user, session, runId, answers }));
 */
export async function resultOf(events: AsyncIterable<Event>): Promise<RunResult> {
  let runId = '';
  const final = new FinalText();
  let error: EventError | undefined;
  const questions = new Map<string, Question>();
  for await (const event of events) {
    runId = event.runId;
    for (const question of event.actions.questions ?? []) questions.set(question.id, question);
    for (const { questionId } of event.actions.answers ?? []) questions.delete(questionId);
    if (event.error) error = event.error;
    final.note(event);
  }
  return { runId, text: final.text, questions: [...questions.values()], ...(error && { error }) };
}
