/** One task in the inbox, with the buttons for its actions. */
import { useSignal } from '@preact/signals';
import { cleanLine } from '../../../display/index.ts';
import { waitingCallsIn } from '../../../protocol/development-tool/index.ts';
import { textOf, type Task } from '../../../protocol/index.ts';
import { AnswerForm, TaskButtons } from '../parts/task-actions.tsx';
import { ProblemLine, useAction } from '../parts/loading.tsx';
import { Moment, StateBadge } from '../parts/task-parts.tsx';
import { goTo, hrefOf } from '../server/route.ts';
import { EXTENSIONS, type Server } from '../server/server.ts';
import { mayWrite } from '../server/tasks.ts';
import type { InboxTask } from './merged-tasks.ts';
import { PageButton } from '../parts/controls.tsx';

const MAX_SAID = 300;

interface RowProps {
  readonly server: Server;
  readonly listed: InboxTask;
  /** The start of the task's first message, or undefined if it is not loaded. */
  readonly opening: string | undefined;
  readonly showsAgent: boolean;
  /** Called when the task may have changed. */
  readonly onChange: () => void;
  readonly onContext: (contextId: string) => void;
}

export function TaskRow(props: RowProps) {
  const { server, listed, opening, showsAgent, onChange, onContext } = props;
  const { agent, task } = listed;
  const { id, contextId, status } = task;
  const place = { agent, taskId: id };
  const href = hrefOf(['tasks', id], { agent });
  const answering = useSignal(false);
  const action = useAction();
  const { busy, problem, run } = action;
  const name = opening === undefined || opening === '' ? id : opening;
  const said = saidBy(task);
  const writes = mayWrite(server, agent);

  /** Opens the field for an answer. If a call waits, opens the page of the task instead, which shows the whole call. */
  const ask = async () => {
    const client = await server.client(agent);
    const whole = await client.get(id, { extensions: EXTENSIONS });
    if (waitingCallsIn(whole).length > 0) goTo(href);
    else answering.value = true;
  };
  return (
    <li class="task-row" aria-label={name}>
      <div class="task-line">
        <StateBadge state={status.state} />
        <a class="task-name" href={href}>
          {opening === undefined ? <span class="dim mono">{id}</span> : name}
        </a>
        <span class="dim small when">
          <Moment at={status.timestamp} />
        </span>
      </div>
      {said === '' ? null : <p class="task-said">{said}</p>}
      <div class="task-line small">
        {showsAgent ? <span class="chip">{agent === '' ? 'gateway' : agent}</span> : null}
        <PageButton
          class="chip link"
          title={`Show only the context ${cleanLine(contextId)}`}
          onClick={() => onContext(contextId)}
        >
          context {shortId(cleanLine(contextId))}
        </PageButton>
        <span class="actions">
          {writes && status.state === 'input-required' ? (
            <PageButton
              aria-expanded={answering.value}
              disabled={busy}
              onClick={() => (answering.value ? (answering.value = false) : run(ask))}
            >
              Answer
            </PageButton>
          ) : null}
          {writes ? (
            <TaskButtons
              server={server}
              place={place}
              state={status.state}
              action={action}
              onChange={onChange}
            />
          ) : null}
        </span>
      </div>
      {answering.value ? (
        <AnswerForm
          server={server}
          place={place}
          action={action}
          onChange={() => {
            answering.value = false;
            onChange();
          }}
        />
      ) : null}
      {problem === undefined ? null : <ProblemLine error={problem} />}
    </li>
  );
}

/** Returns the start of the message in the task's status, for example a question or an error. */
function saidBy({ status: { message } }: Task): string {
  return message ? cleanLine(textOf(message.parts).slice(0, 2 * MAX_SAID)).slice(0, MAX_SAID) : '';
}

/** Returns only the end of a long id, because time-ordered ids of the same minute often have the same start. */
function shortId(id: string): string {
  return id.length > 14 ? `…${id.slice(-8)}` : id;
}
