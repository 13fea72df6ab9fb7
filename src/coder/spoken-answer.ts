/**
 * What a person's words are in answer to a question: to one that the agent asks, themselves; to a confirmation yes,
 * no, or a reason to decline that the model gets to hear.
 */
import type { Answer, Question } from '../agent/event.ts';
import { askDetail } from './confirmations.ts';

const YES = /^(?:y|yes|yep|yeah|ok|okay|sure|allow|approve|approved|proceed|go ahead|do it)[.!]*$/i;
const NO = /^(?:n|no|nope|deny|reject|cancel|stop|don['’]t)[.!]*$/i;

export function spokenAnswer(question: Question, text: string): Answer {
  const said = text.trim();
  const questionId = question.id;
  if (question.kind !== 'confirmation') {
    const wanted = question.options?.find((option) => option.toLowerCase() === said.toLowerCase());
    return { questionId, value: wanted ?? said };
  }
  if (!YES.test(said)) {
    return { questionId, confirmed: false, ...(!NO.test(said) && said !== '' && { value: said }) };
  }
  const { fingerprint } = askDetail(question);
  const value = {
    selected_option_id: 'proceed_once',
    ...(fingerprint !== undefined && { fingerprint }),
  };
  return { questionId, confirmed: true, value };
}
