/** Answers that come while a run is under way, and would otherwise have to wait until it stops. */
import type { Answer, Question } from './event.ts';

export interface AnswerInbox {
  /** The answer to this question, once. */
  take(question: Question): Answer | undefined;
  /** Calls back each time that something has come, until it is disposed of. */
  listen(arrived: () => void): Disposable;
}
