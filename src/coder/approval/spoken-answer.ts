/**
 * Questions in words, for clients that know nothing of the extension; and what a person's words are in answer to one:
 * to one that the agent asks, themselves; to a confirmation yes, no, or a reason to decline that the model gets to hear.
 */
import type { Answer, Question } from '../../agent/index.ts';
import { askDetail } from './confirmations.ts';
import { meansNo, meansYes } from './words.ts';

export function spokenAnswer(question: Question, text: string): Answer {
  const said = text.trim();
  const questionId = question.id;
  if (question.kind !== 'confirmation') {
    const wanted = question.options?.find((option) => option.toLowerCase() === said.toLowerCase());
    return { questionId, value: wanted ?? said };
  }
  if (!meansYes(said)) {
    return { questionId, confirmed: false, ...(!meansNo(said) && said !== '' && { value: said }) };
  }
  const { fingerprint } = askDetail(question);
  const value = {
    selected_option_id: 'proceed_once',
    ...(fingerprint !== undefined && { fingerprint }),
  };
  return { questionId, confirmed: true, value };
}

/** All that waits for an answer. Words answer all of it at once. */
export function inWords(questions: readonly Question[]): string {
  const confirmations = questions.filter(({ kind }) => kind === 'confirmation');
  const lines = questions.map((question) =>
    question.kind === 'confirmation' ? wholeCall(question) : withOptions(question),
  );
  if (confirmations.length > 0) {
    const what = confirmations.length === 1 ? 'May I do this?' : 'May I do all of this?';
    lines.push(`${what} Answer yes or no, or say what to do instead.`);
  }
  return lines.join('\n\n');
}

/** Whoever allows it has seen all of it. */
function wholeCall(question: Question): string {
  const { execute_details, file_edit_details, generic_details } = askDetail(question).request;
  const whole =
    execute_details?.command ?? file_edit_details?.formatted_diff ?? generic_details?.description;
  return whole === undefined ? question.text : `${question.text}\n${whole}`;
}

function withOptions({ text, options = [] }: Question): string {
  return options.length === 0 ? text : `${text} (${options.join(', ')})`;
}
