/** The field for an answer in words, to an agent that asks in words. */
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { bound, Form } from './controls.tsx';

interface AnswerProps {
  readonly busy: boolean;
  readonly onSend: (words: string) => void;
}

export function AnswerForm({ busy, onSend }: AnswerProps) {
  const words = useSignal('');
  const id = useId();
  const send = () => {
    if (words.value.trim() !== '' && !busy) onSend(words.value);
  };
  return (
    <Form class="answer" onSubmit={send}>
      <label for={id}>Your answer</label>
      <textarea
        id={id}
        rows={2}
        ref={(field) => {
          if (words.peek() === '') field?.focus();
        }}
        {...bound(words)}
      />
      <button type="submit" class="primary" disabled={busy || words.value.trim() === ''}>
        Send the answer
      </button>
    </Form>
  );
}
