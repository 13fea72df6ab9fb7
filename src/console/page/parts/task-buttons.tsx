/** The button of a task. It cancels the task or, if the task has ended, sends the first message of the task again. */
import { isTerminal, type TaskState } from '../../../protocol/index.ts';
import { goTo, hrefOf } from '../server/route.ts';
import type { Server } from '../server/server.ts';
import { cancelTask, sendAgain } from '../server/task-actions.ts';
import type { TaskPlace } from '../server/task-log.ts';
import type { PageAction } from './use-action.ts';
import { PageButton } from './controls.tsx';

interface Props {
  readonly server: Server;
  readonly place: TaskPlace;
  readonly state: TaskState;
  readonly action: PageAction;
  /** Called when the task may have changed. */
  readonly onChange: () => void;
}

export function TaskButtons({ server, place, state, action, onChange }: Props) {
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
