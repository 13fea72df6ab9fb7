/** Receives answers while a run is active. Without an inbox, answers have to wait until the run stops. */
import type { Answer, Question } from './event.ts';

/** Supplies answers to a run that is active: `runner.run({ …, inbox })`. */
export interface AnswerInbox {
  /** Returns and removes the answer to this question. Returns undefined if there is none yet. */
  take(question: Question): Answer | undefined;
  /** Calls `arrived` for each new answer until the returned Disposable is disposed. */
  listen(arrived: () => void): Disposable;
}
