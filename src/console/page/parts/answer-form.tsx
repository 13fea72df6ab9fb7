/** The form in which a person writes an answer to an agent that asks in words. */
import { useSignal } from '@preact/signals';
import { Form } from './controls.tsx';
import { WordsField } from './words-field.tsx';

interface AnswerProps {
  readonly busy: boolean;
  readonly onSend: (words: string) => void;
}

export function AnswerForm({ busy, onSend }: AnswerProps) {
  const words = useSignal('');
  const send = () => {
    if (words.value.trim() !== '' && !busy) onSend(words.value);
  };
  return (
    <Form class="answer" onSubmit={send}>
      <WordsField label="Your answer" words={words} />
      <button type="submit" class="primary" disabled={busy || words.value.trim() === ''}>
        Send the answer
      </button>
    </Form>
  );
}
