/** The actions of a person on a task: answer it, cancel it, or send its first message again. */
import { useSignal } from '@preact/signals';
import { PageButton, Form, WordsField } from './controls.tsx';
import type { PageAction } from './loading.tsx';
import { goTo, hrefOf } from '../server/route.ts';
import type { Server } from '../server/server.ts';
import { cancelTask, sendAgain, sendToTask, type TaskPlace } from '../server/tasks.ts';
import { isTerminal, type TaskState } from '../../../protocol/index.ts';

interface TaskProps {
  readonly server: Server;
  readonly place: TaskPlace;
  readonly action: PageAction;
  /** Called when the task may have changed. */
  readonly onChange: () => void;
}

/** The button of a task. It cancels the task or, if the task has ended, sends the first message of the task again. */
export function TaskButtons(props: TaskProps & { readonly state: TaskState }) {
  const { server, place, state, action, onChange } = props;
  const { busy, run } = action;
  const again = async () => {
    const made = await sendAgain(server, place);
    if (made !== undefined) goTo(hrefOf(['tasks', made], { agent: place.agent }));
  };
  return isTerminal(state) ? (
    <PageButton disabled={busy} onClick={() => run(again)}>
      Send again
    </PageButton>
  ) : (
    <PageButton
      disabled={busy}
      onClick={() => run(() => cancelTask(server, place).finally(onChange))}
    >
      Cancel
    </PageButton>
  );
}

/** The form in which a person answers a task with text. */
export function AnswerForm({ server, place, action, onChange }: TaskProps) {
  const { busy, run } = action;
  const words = useSignal('');
  const send = () => {
    const text = words.value;
    if (text.trim() === '') return;
    run(() => sendToTask(server, place, [{ kind: 'text', text }]).then(onChange));
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
