/** The page of one task: its transcript, timeline, events and JSON, in the current state or after any earlier event. */
import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { cleanLine } from '../../../display/index.ts';
import { VERSIONS, type Task } from '../../../protocol/index.ts';
import { AnswerForm, TaskButtons } from '../parts/task-actions.tsx';
import { PageMessage, Problem, ProblemLine, useAction, useLoaded } from '../parts/loading.tsx';
import { viewsOf, Tabs } from '../parts/lists.tsx';
import { FactRow, Moment, StateBadge } from '../parts/task-parts.tsx';
import { changeQuery, hrefOf, route } from '../server/route.ts';
import type { PageProps, Server } from '../server/server.ts';
import { mayWrite, type TaskPlace } from '../server/tasks.ts';
import { LongText } from '../session/lines.tsx';
import { ContentEditor, RequestDialog } from '../session/request-dialog.tsx';
import { TranscriptView } from '../session/transcript.tsx';
import { FramesView } from './frames-view.tsx';
import { HistorySlider } from './history-slider.tsx';
import { OpenTask } from './open-task.ts';
import { TimelineView } from './timeline-view.tsx';

const VIEWS = { transcript: 'Transcript', timeline: 'Timeline', frames: 'Events', task: 'JSON' };
const JSON_ROWS = 400;

export function TaskPage({ server, path: [taskId] }: PageProps) {
  const { agent = '' } = route.value.query;
  if (taskId === undefined) {
    return (
      <PageMessage title="Which task?">
        <p>
          Choose a task in the <a href={hrefOf(['inbox'])}>inbox</a>.
        </p>
      </PageMessage>
    );
  }
  return <TaskOf key={`${agent} ${taskId}`} server={server} agent={agent} taskId={taskId} />;
}

function TaskOf({ server, agent, taskId }: TaskPlace & { readonly server: Server }) {
  const store = useMemo(() => new OpenTask(server, { agent, taskId }), [server, agent, taskId]);
  useEffect(() => {
    void store.follow();
    return () => store.close();
  }, [store]);
  const { query } = route.value;
  const count = store.count.value;
  const error = store.error.value;
  const view = viewsOf(VIEWS).find((each) => each === query['view']) ?? 'transcript';
  const at = Math.min(atIn(query['at']) ?? count, count);
  const set = (changed: Record<string, string>) => changeQuery(['tasks', taskId], changed);

  const entries = useMemo(() => store.past.entries.slice(0, at), [store, at, count]);
  const task = useMemo(() => store.past.taskAfter(at), [store, at, count]);
  if (!task) {
    return (
      <>
        <h1>Task</h1>
        {error === undefined ? (
          <p class="dim">Loading the task…</p>
        ) : (
          <Problem error={error} onRetry={() => store.readNow()} />
        )}
      </>
    );
  }
  return (
    <div class="task-page">
      <TaskHead store={store} task={task} isPast={at < count} />
      {error === undefined ? null : <ProblemLine error={error} />}
      <HistorySlider
        entries={store.past.entries}
        at={at}
        onChange={(next) => set({ at: next >= count ? '' : String(next) })}
      />
      <Tabs
        label="Views of the task"
        titles={VIEWS}
        current={view}
        hrefFor={(each) => hrefOf(['tasks', taskId], { ...query, view: each })}
      />
      <div class="task-view">
        {view === 'transcript' ? <Transcript store={store} at={at} /> : null}
        {view === 'timeline' ? <TimelineView entries={entries} isPast={at < count} /> : null}
        {view === 'frames' ? <Frames store={store} seq={entries.at(-1)?.seq ?? 0} /> : null}
        {view === 'task' ? (
          <LongText text={JSON.stringify(task, null, 2)} first={JSON_ROWS} safe="reveal" />
        ) : null}
      </div>
      {at === count ? <Answers store={store} task={task} /> : null}
    </div>
  );
}

function atIn(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

interface HeadProps {
  readonly store: OpenTask;
  readonly task: Task;
  /** Whether the task is shown as it was before its newest event. */
  readonly isPast: boolean;
}

function TaskHead({ store, task, isPast }: HeadProps) {
  const { server, place } = store;
  const action = useAction();
  const { problem } = action;
  return (
    <header class="task-head">
      <h1>
        Task <StateBadge state={task.status.state} />
      </h1>
      <dl class="facts">
        <FactRow name="Id" class="mono">
          {task.id}
        </FactRow>
        <FactRow name="Context" class="mono">
          <a href={hrefOf(['inbox'], { context: task.contextId })}>{cleanLine(task.contextId)}</a>
        </FactRow>
        <FactRow name="Agent">{cleanLine(store.agentName)}</FactRow>
        <FactRow name={isPast ? 'Shown as of' : 'Changed'}>
          <Moment at={task.status.timestamp} />
        </FactRow>
      </dl>
      {mayWrite(server, place.agent) && !isPast ? (
        <div class="actions">
          <TaskButtons
            server={server}
            place={place}
            state={task.status.state}
            action={action}
            onChange={() => store.readNow()}
          />
        </div>
      ) : null}
      {problem === undefined ? null : <ProblemLine error={problem} />}
    </header>
  );
}

function Transcript({ store, at }: { readonly store: OpenTask; readonly at: number }) {
  const shown = useSignal(at);
  shown.value = at;
  const state = useComputed(() => {
    const count = store.count.value;
    // Notices of this page, such as a failed answer, are only in the newest state.
    return shown.value >= count ? store.newest.state.value : store.past.stateAfter(shown.value);
  });
  const { session } = store.newest;
  const empty = <p class="empty dim">Nothing has been said yet.</p>;
  return (
    <TranscriptView
      key={store.place.taskId}
      store={{ state, session, seen: 0 }}
      unnamed="User"
      empty={empty}
    />
  );
}

function Frames({ store, seq }: { readonly store: OpenTask; readonly seq: number }) {
  const client = useLoaded(() => store.server.client(store.place.agent), [store]);
  if (!client.value) return null;
  const { supportedInterfaces } = client.value.card;
  const offered = VERSIONS.filter((version) =>
    supportedInterfaces.some(({ protocolVersion }) => protocolVersion.startsWith(version)),
  );
  return <FramesView store={store} versions={offered.toReversed()} seq={seq} />;
}

/** The dialog for the question of the task, or the form for an answer in words. */
function Answers({ store, task }: { readonly store: OpenTask; readonly task: Task }) {
  const action = useAction();
  const { problem } = action;
  const { newest, server, place } = store;
  const asksInWords =
    task.status.state === 'input-required' &&
    newest.mayPrompt &&
    newest.asking.length === 0 &&
    newest.answering.value.size === 0;
  return (
    <>
      <RequestDialog store={newest} />
      <ContentEditor store={newest} />
      {asksInWords ? (
        <AnswerForm
          server={server}
          place={place}
          action={action}
          onChange={() => store.readNow()}
        />
      ) : null}
      {problem === undefined ? null : <ProblemLine error={problem} />}
    </>
  );
}
