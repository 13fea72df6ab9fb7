/**
 * Checks what clients saw during a run with faults against what is stored. Each promise of the server is one check.
 */
import { isTerminal, type TaskEvent } from '../../src/protocol/index.ts';

/** What one client was told. */
export interface History {
  /** Messages that were acknowledged: the id of the message and of its task. */
  readonly acknowledged: { readonly messageId: string; readonly taskId: string }[];
  /** Streams: the events in the order in which they came. `isWhole` if the stream ended with a final event. */
  readonly streams: {
    readonly taskId: string;
    readonly events: { readonly seq: number; readonly about: string }[];
    isWhole: boolean;
  }[];
  /** Streams of clients that do not show event ids. `isNew` if the stream is that of the task's first message. */
  readonly unnumbered: {
    readonly taskId: string;
    readonly events: readonly string[];
    readonly isWhole: boolean;
    readonly isNew: boolean;
  }[];
  /** Tasks of a node that was paused for longer than its lease. Another node must take them over. */
  readonly paused: string[];
  /** Requests to webhooks, in the order in which they came. */
  readonly deliveries: {
    readonly taskId: string;
    readonly configId: string;
    readonly seq: number;
  }[];
  /** Webhooks that were accepted. They get all events after entry `after`. */
  readonly webhooks: {
    readonly taskId: string;
    readonly configId: string;
    readonly after: number;
  }[];
}

export interface StoredTask {
  readonly taskId: string;
  /** The last sequence number in the head. */
  readonly seq: number;
  readonly state: string;
  readonly entries: readonly { readonly seq: number; readonly event: TaskEvent }[];
  readonly messageIds: readonly string[];
  /** How often the tool was run for this task. It is approved once. */
  readonly toolRuns: number;
  /** Raised each time when another node becomes the owner. */
  readonly epoch: number;
}

export function emptyHistory(): History {
  return {
    acknowledged: [],
    streams: [],
    unnumbered: [],
    paused: [],
    deliveries: [],
    webhooks: [],
  };
}

/** Describes an event independently of the protocol version, so that both sides can be compared. */
export function aboutEvent(event: TaskEvent): string {
  if (event.kind === 'task') return 'task';
  if (event.kind === 'status-update') return `status ${event.status.state}`;
  const texts = event.artifact.parts.map((part) => (part.kind === 'text' ? part.text : ''));
  return `artifact ${texts.join('')}`;
}

/** Returns the broken promises, one line each. */
export function check(history: History, tasks: readonly StoredTask[]): string[] {
  const broken: string[] = [];
  const byId = new Map(tasks.map((task) => [task.taskId, task]));
  for (const task of tasks) broken.push(...checkTask(task));
  for (const { messageId, taskId } of history.acknowledged) {
    const task = byId.get(taskId);
    if (!task) broken.push(`task ${taskId} was acknowledged, but is not stored`);
    else if (!task.messageIds.includes(messageId))
      broken.push(`message ${messageId} of task ${taskId} was acknowledged, but is not stored`);
  }
  for (const stream of history.streams)
    broken.push(...checkStream(stream, byId.get(stream.taskId)));
  for (const stream of history.unnumbered)
    broken.push(...checkUnnumbered(stream, byId.get(stream.taskId)));
  for (const taskId of history.paused) {
    if ((byId.get(taskId)?.epoch ?? 0) < 2)
      broken.push(`task ${taskId}: its node was paused, but no other node took it over`);
  }
  for (const webhook of history.webhooks) {
    broken.push(...checkWebhook(webhook, history.deliveries, byId.get(webhook.taskId)));
  }
  return broken;
}

function checkTask({ taskId, seq, state, entries, toolRuns }: StoredTask): string[] {
  const broken: string[] = [];
  for (const [index, entry] of entries.entries()) {
    if (entry.seq !== index + 1)
      broken.push(`task ${taskId}: entry ${entry.seq} is at ${index + 1}`);
  }
  if (entries.length !== seq) {
    broken.push(`task ${taskId}: the head says ${seq}, but there are ${entries.length} entries`);
  }
  // The agent has one turn per task, so a task has at most one terminal event, and it is the last one.
  const ends = entries.filter(
    ({ event }) => event.kind === 'status-update' && isTerminal(event.status.state),
  );
  if (ends.length > 1) broken.push(`task ${taskId}: ${ends.length} terminal events`);
  if (ends.length === 1 && ends[0] !== entries.at(-1)) {
    broken.push(`task ${taskId}: entries after the terminal event`);
  }
  if (ends.length === 0 && state !== 'input-required') {
    broken.push(`task ${taskId}: still ${state} after all nodes have recovered`);
  }
  if (toolRuns > 1)
    broken.push(`task ${taskId}: the tool ran ${toolRuns} times under one approval`);
  return broken;
}

function checkStream(
  { taskId, events, isWhole }: History['streams'][number],
  task: StoredTask | undefined,
): string[] {
  const broken: string[] = [];
  for (const [index, { seq, about }] of events.entries()) {
    const stored = task?.entries[seq - 1];
    // The first event of a stream may be a snapshot of the task.
    const isSame =
      stored && (aboutEvent(stored.event) === about || (index === 0 && about === 'task'));
    if (!isSame) broken.push(`task ${taskId}: a client saw "${about}" as entry ${seq}`);
    const before = events[index - 1];
    if (before && seq !== before.seq + 1) {
      broken.push(`task ${taskId}: a stream has entry ${seq} after entry ${before.seq}`);
    }
  }
  const last = events.at(-1);
  const end = last && task?.entries[last.seq - 1]?.event;
  if (isWhole && !(end?.kind === 'status-update' && end.final) && last?.about !== 'task') {
    broken.push(`task ${taskId}: a stream ended as a whole without a final event`);
  }
  return broken;
}

/** The events must be those of the log, without a gap. The first one may be a snapshot of the task. */
function checkUnnumbered(
  { taskId, events, isWhole, isNew }: History['unnumbered'][number],
  task: StoredTask | undefined,
): string[] {
  const log = (task?.entries ?? []).map(({ event }) => aboutEvent(event));
  const isAt = (from: number) =>
    events.every((about, at) => log[from + at] === about || (at === 0 && about === 'task'));
  const starts = isNew ? [0] : log.keys();
  for (const from of starts) {
    const last = task?.entries[from + events.length - 1]?.event;
    if (!last || !isAt(from)) continue;
    if (!isWhole || (last.kind === 'status-update' && last.final)) return [];
  }
  return [`task ${taskId}: a client saw "${events.join(', ')}", but "${log.join(', ')}" is stored`];
}

function checkWebhook(
  { taskId, configId, after }: History['webhooks'][number],
  deliveries: History['deliveries'],
  task: StoredTask | undefined,
): string[] {
  const got = deliveries.filter((one) => one.taskId === taskId && one.configId === configId);
  const first = new Set(got.map(({ seq }) => seq));
  const broken: string[] = [];
  for (let seq = after + 1; seq <= (task?.seq ?? 0); seq++) {
    if (!first.has(seq))
      broken.push(`task ${taskId}: webhook ${configId} did not get entry ${seq}`);
  }
  // An event may come again, but never before all earlier ones have come.
  let latest = after;
  for (const { seq } of got) {
    if (seq > latest + 1)
      broken.push(`task ${taskId}: webhook ${configId} got ${seq} after ${latest}`);
    latest = Math.max(latest, seq);
  }
  return broken;
}
