/**
 * Reads one turn of a live session. Reading starts at a message of the turn: the prompt that started the turn, or an
 * answer to one of its questions.
 */
import {
  A2AError,
  isSettled,
  isTerminal,
  reduce,
  type Call,
  type Task,
  type TaskEvent,
} from '../protocol/index.ts';
import {
  type LogPage,
  type ReadLogParams,
  type RequestHandler,
  TaskStream,
  trimHistory,
} from '../tasks/index.ts';
import type { Heard } from './heard-messages.ts';

/**
 * Streams the events of a turn that follow the message or the event `after`. The stream ends when the turn ends or
 * waits for an answer. If the position of the message is unknown, the stream has only the task.
 */
export async function streamTurn(
  handler: RequestHandler,
  { taskId: id, at }: Heard,
  call: Call,
  after = at?.seq ?? 0,
): Promise<TaskStream> {
  if (!at) return TaskStream.of(await handler.getTask({ id }, call));
  if (at.turn.last !== undefined && after >= at.turn.last) return TaskStream.empty();
  return handler.subscribe({ id, after }, call, { oneTurn: true });
}

/**
 * Waits until the turn ends or waits for an answer. Does not wait if the position of the message is unknown. Throws if
 * `call.signal` is aborted or the server stops.
 */
export async function turnSettled(
  handler: RequestHandler,
  heard: Heard,
  call: Call,
): Promise<void> {
  const stream = await streamTurn(handler, heard, call);
  const { signal } = call;
  const leave = () => stream.close();
  signal?.addEventListener('abort', leave, { once: true });
  if (signal?.aborted) leave();
  let isOver = heard.at === undefined || heard.at.turn.last !== undefined;
  for await (const { event } of stream) {
    if (event.kind === 'status-update') isOver = isSettled(event.status.state);
  }
  signal?.removeEventListener('abort', leave);
  if (!isOver) throw new A2AError('unavailable', 'The task continues; get it by its id');
}

/**
 * Returns the task with only this turn: its messages from the given message on, its artifacts and its last state. If
 * the position of the message is unknown, returns the whole task.
 */
export async function turnTask(
  handler: RequestHandler,
  heard: Heard,
  call: Call,
  historyLength?: number,
): Promise<Task> {
  const { taskId: id, contextId, at } = heard;
  if (!at) return handler.getTask({ id, historyLength }, call);
  let task = submitted(id, contextId);
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page: LogPage = await turnLog(handler, heard, call, { after });
    for (const { event } of page.entries) task = reduce(task, event) ?? task;
    after = page.next;
  }
  return trimHistory(task, historyLength);
}

/**
 * Returns a page of the turn's log, after the event `from`. The log starts with the message, and ends with the last
 * event of the turn so far. If the position of the message is unknown, the log is that of the whole task.
 */
export async function turnLog(
  handler: RequestHandler,
  { taskId: id, at }: Heard,
  call: Call,
  { after: from = 0, limit }: Pick<ReadLogParams, 'after' | 'limit'>,
): Promise<LogPage> {
  if (at?.turn.last !== undefined && from >= at.turn.last) return { entries: [] };
  const after = at ? Math.max(from, at.seq - 1) : from;
  const page = await handler.readLog({ id, after, limit }, call);
  // In gemini-cli's dialect, the state of a turn's last event is not terminal. So the sequence number of the event is
  // compared too.
  const end =
    at && page.entries.findIndex(({ seq, event }) => seq === at.turn.last || endsTurn(event));
  if (end === undefined || end < 0) return page;
  return { entries: page.entries.slice(0, end + 1) };
}

function endsTurn(event: TaskEvent): boolean {
  return event.kind === 'status-update' && isTerminal(event.status.state);
}

/** Returns a task in the state `submitted`, without messages. */
export function submitted(id: string, contextId: string): Task {
  return { kind: 'task', id, contextId, status: { state: 'submitted' } };
}
