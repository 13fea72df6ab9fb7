/**
 * A pure fold over what `LiveSession.items()` yields.
 *
 * A snapshot tells the same as the events before it, so it does not matter when a client joins: any prefix of the
 * events, taken as a snapshot, and then the rest make the state that all of them make.
 */
import { isObject } from '../../base/index.ts';
import type { LiveSnapshot } from '../../live/client/index.ts';
import { DevelopmentToolEvent, EXTENSION_URI } from '../../protocol/development-tool/index.ts';
import {
  isTerminal,
  textOf,
  type Message,
  type StreamEvent,
  type Task,
  type TaskState,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import { isWaiting } from './entry.ts';
import { EMPTY_LOG, LogWriter } from './log.ts';
import { readMessage } from './message.ts';
import type { Action, State, Usage } from './state.ts';

export function reduceState(state: State, action: Action): State {
  switch (action.kind) {
    case 'snapshot':
      return join(state, action.snapshot);
    case 'event':
      return follow(state, action.taskId, action.seq, action.event);
    case 'presence':
      return { ...state, clients: action.clients, queued: action.queued };
    default: {
      const writer = new LogWriter(state.log);
      writer.notice(action.level, action.text, true);
      return { ...state, log: writer.log };
    }
  }
}

function join(state: State, snapshot: LiveSnapshot): State {
  const { taskId, contextId, workspace, seq, task, model, approval, clients } = snapshot;
  const again = state.place?.taskId === taskId;
  const past = new LogWriter(state.log);
  if (!state.place) for (const before of snapshot.earlier ?? []) readTask(past, before);
  past.end();
  // What comes behind something else is parted from it.
  const last = again ? [] : past.log.finished.slice(-1);
  const writer = new LogWriter({ ...EMPTY_LOG, next: past.log.next, finished: last });
  readTask(writer, task);
  const known = new Set(writer.log.open.filter(isWaiting).map(({ call }) => call.tool_call_id));
  for (const call of snapshot.pending) {
    if (!known.has(call.tool_call_id)) writer.take({ kind: 'call', call });
  }
  // What is printed stays printed: of the same task only what came since is new.
  const shown = again ? state.log.finished : past.log.finished;
  const own = writer.log.finished.slice(last.length);
  const fresh = own.slice(again ? state.logged : 0);
  return {
    ...state,
    place: { taskId, contextId, workspace, seq },
    model,
    approval,
    clients,
    turn: task.status.state,
    log: { ...writer.log, finished: shown.concat(fresh) },
    logged: Math.max(own.length, again ? state.logged : 0),
  };
}

/** A task's history as it would have come in events. */
function readTask(writer: LogWriter, { history = [], status }: Task): void {
  for (const [index, message] of history.entries()) {
    const next = history[index + 1];
    const closes = next !== undefined && message.role === 'agent' && isPrompt(next);
    if (closes && isText(message)) writer.closing(textOf(message.parts));
    else for (const said of readMessage(message)) writer.take(said);
    // A turn ends before the next prompt, unless the prompt is an answer in words.
    if (closes && !writer.log.open.some(isWaiting)) writer.end();
  }
  if (isTerminal(status.state)) endTurn(writer, status.state, status.message);
  else if (status.message) for (const said of readMessage(status.message)) writer.take(said);
}

function isPrompt(message: Message): boolean {
  return readMessage(message).some(({ kind }) => kind === 'prompt');
}

function isText({ parts }: Message): boolean {
  return parts.every(({ kind }) => kind === 'text');
}

function follow(state: State, taskId: string, seq: number, event: StreamEvent): State {
  const { place } = state;
  if (!place || place.taskId !== taskId || seq <= place.seq) return state;
  const now: State = { ...state, place: { ...place, seq } };
  const writer = new LogWriter(state.log);
  if (event.kind === 'task') {
    readTask(writer, event);
    return written(now, writer, { turn: event.status.state });
  }
  if (event.kind === 'message') {
    for (const said of readMessage(event)) writer.take(said);
    return written(now, writer, {});
  }
  return event.kind === 'status-update' ? followStatus(now, writer, event) : now;
}

function followStatus(state: State, writer: LogWriter, event: TaskStatusUpdateEvent): State {
  const { status, metadata } = event;
  const about = DevelopmentToolEvent.safeParse(metadata?.[EXTENSION_URI]).data;
  const changes: Partial<State> = {
    turn: status.state,
    ...(about && about.model !== '' && { model: about.model }),
    ...usageIn(about, state.usage),
  };
  if (isTerminal(status.state)) {
    endTurn(writer, status.state, status.message);
    const { wanted, ...rest } = state;
    const set = wanted !== undefined && status.state === 'completed' && about?.error === undefined;
    return written(rest, writer, { ...changes, ...(set && { approval: wanted }) });
  }
  const said = status.message ? readMessage(status.message, about?.source) : [];
  for (const each of said) writer.take(each);
  const prompt = said.find((each) => each.kind === 'prompt');
  const wanted = /^\/approval\s+(\S+)\s*$/.exec(prompt?.text ?? '')?.[1];
  return written(state, writer, { ...changes, ...(wanted !== undefined && { wanted }) });
}

function endTurn(writer: LogWriter, turn: TaskState, message: Message | undefined): void {
  const text = message ? textOf(message.parts) : '';
  if (turn === 'completed') {
    if (text !== '') writer.closing(text);
  } else if (turn === 'canceled') {
    writer.notice('info', 'Canceled.', false);
  } else {
    writer.notice('error', text === '' ? 'The turn failed.' : text, false);
  }
  writer.end();
}

function written(state: State, writer: LogWriter, changes: Partial<State>): State {
  const { log } = writer;
  const before = state.log.finished.length;
  const added = log.finished.slice(before).filter(({ local }) => local !== true).length;
  return { ...state, ...changes, log, logged: state.logged + added };
}

/** Parley's server may add `usage` to what an event is about; each number in it counts until the next one. */
function usageIn(about: object | undefined, before: Usage): { readonly usage?: Usage } {
  const told: unknown = about && 'usage' in about ? about.usage : undefined;
  if (!isObject(told)) return {};
  const number = (key: keyof Usage): Usage => {
    const value = told[key];
    return typeof value === 'number' && Number.isFinite(value) && value >= 0
      ? { [key]: value }
      : {};
  };
  return {
    usage: {
      ...before,
      ...number('contextTokens'),
      ...number('contextLimit'),
      ...number('costUsd'),
    },
  };
}
