/**
 * Computes the next state from an item of a live session, as a pure function.
 *
 * A snapshot that omits no messages results in the same entries as the events that it summarizes. So a client that
 * joins late shows the same entries as a client that joined at the start.
 */
import type { LiveItem, LiveSnapshot } from '../../live/client/index.ts';
import {
  failureId,
  readMessage,
  readStatus,
  readTask,
} from '../../protocol/development-tool/index.ts';
import type { TaskStatusUpdateEvent } from '../../protocol/index.ts';
import { isWaiting } from './entry.ts';
import { EMPTY_LOG, LogWriter } from './log.ts';
import { INITIAL, type SessionAction, type SessionState } from './state.ts';

/** Returns the reason for a failure by its correlation id, if the reason is available to this client. */
export type CauseOf = (correlationId: string) => string | undefined;

export function reduceState(
  state: SessionState,
  action: SessionAction,
  causeOf: CauseOf = () => undefined,
): SessionState {
  switch (action.kind) {
    case 'snapshot':
      return join(state, action.snapshot);
    case 'event':
      return follow(state, action, causeOf);
    case 'retry':
      return { ...state, retry: action };
    case 'presence':
      return { ...state, clients: action.clients, queued: action.queued };
    default: {
      const writer = new LogWriter(state.log);
      if (action.kind === 'own-command') writer.ownCommand(action.call);
      else writer.notice(action.level, action.text, true, action.link && { link: action.link });
      return { ...state, log: writer.log };
    }
  }
}

function join(state: SessionState, snapshot: LiveSnapshot): SessionState {
  const { taskId, contextId, workspace, seq, task, model, approval, clients } = snapshot;
  const { usage = state.usage, omitted = 0 } = snapshot;
  const again = state.place?.taskId === taskId;
  // A snapshot that omits its first messages replaces the log, because its entries cannot be matched with the entries
  // of the log.
  if (again && omitted > 0) return join({ ...INITIAL, usage }, snapshot);
  const past = new LogWriter(state.log);
  if (!state.place) {
    for (const fact of (snapshot.earlier ?? []).flatMap(readTask)) past.take(fact);
  }
  past.end();
  // The last earlier entry determines whether a blank line is printed before the first new entry.
  const last = again ? [] : past.log.finished.slice(-1);
  const writer = new LogWriter({ ...EMPTY_LOG, next: past.log.next, finished: last });
  for (const fact of readTask(task)) writer.take(fact);
  const known = new Set(writer.log.open.filter(isWaiting).map(({ call }) => call.tool_call_id));
  for (const call of snapshot.pending) {
    if (!known.has(call.tool_call_id)) writer.take({ kind: 'call', call });
  }
  // Entries that are already printed cannot be removed. So for the same task, only later entries are added.
  const shown = again ? state.log.finished : past.log.finished;
  const own = writer.log.finished.slice(last.length);
  const fresh = own.slice(again ? state.logged : 0);
  return {
    ...state,
    place: { taskId, contextId, workspace, seq },
    model,
    approval,
    usage,
    omitted: state.place ? state.omitted : omitted,
    clients,
    turn: task.status.state,
    log: { ...writer.log, finished: shown.concat(fresh) },
    logged: Math.max(own.length, again ? state.logged : 0),
  };
}

function follow(
  state: SessionState,
  { taskId, seq, event }: Extract<LiveItem, { kind: 'event' }>,
  causeOf: CauseOf,
): SessionState {
  const { place } = state;
  if (!place || place.taskId !== taskId || seq <= place.seq) return state;
  const now: SessionState = { ...state, place: { ...place, seq } };
  if (event.kind === 'status-update') return followStatus(now, event, causeOf);
  if (event.kind === 'artifact-update') return now;
  const writer = new LogWriter(state.log);
  for (const fact of event.kind === 'task' ? readTask(event) : readMessage(event)) {
    writer.take(fact);
  }
  return written(now, writer, event.kind === 'task' ? { turn: event.status.state } : {});
}

function followStatus(
  state: SessionState,
  event: TaskStatusUpdateEvent,
  causeOf: CauseOf,
): SessionState {
  const { about, facts } = readStatus(event);
  const turn = event.status.state;
  const failure = failureId(event);
  const cause = failure === undefined ? undefined : causeOf(failure);
  const writer = new LogWriter(state.log);
  for (const fact of facts) {
    writer.take(fact.kind === 'state' && cause !== undefined ? { ...fact, text: cause } : fact);
  }
  return written(state, writer, {
    turn,
    // The retry is over after any status update that is not a message of a user: the model has answered, or the turn
    // has ended.
    ...(event.status.message?.role !== 'user' && { retry: undefined }),
    ...(about && about.model !== '' && { model: about.model }),
    ...(about?.approval !== undefined && { approval: about.approval }),
    ...(about?.usage && { usage: about.usage }),
  });
}

function written(
  state: SessionState,
  writer: LogWriter,
  changes: Partial<SessionState>,
): SessionState {
  const { log } = writer;
  const before = state.log.finished.length;
  const added = log.finished.slice(before).filter(({ local }) => local !== true).length;
  return { ...state, ...changes, log, logged: state.logged + added };
}
