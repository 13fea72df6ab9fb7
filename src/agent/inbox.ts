/** Supplies answers to an active run. Without an inbox, answers must wait until the run stops. */
import type { Answer, Question } from './event.ts';

/** Supplies answers to a run that is active: `runner.run({ …, inbox })`. */
export interface AnswerInbox {
  /** Returns and removes the answer to this question. Returns undefined if there is no answer yet. */
  take(question: Question): Answer | undefined;
  /** Calls `arrived` for each new answer until the returned Disposable is disposed. */
  listen(arrived: () => void): Disposable;
}
