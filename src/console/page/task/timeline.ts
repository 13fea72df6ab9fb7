/**
 * The timeline of a task: when it worked, and when it waited for a person. It is computed only from the log. An
 * artifact event has no time of its own, so it does not change the timeline.
 */
import { readStatus, type ToolCall } from '../../../protocol/development-tool/index.ts';
import { isTerminal, type LogEntry, type TaskState } from '../../../protocol/index.ts';
import { hasEnded } from '../../../protocol/schema-free/index.ts';

/** `work`: runs. `person`: waits for an answer. `queue`: waits to be started. `idle`: between two turns of a task. */
export type SpanKind = 'work' | 'person' | 'queue' | 'idle';

export interface TimeSpan {
  readonly kind: SpanKind;
  /** In milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
}

export interface TimedCall {
  readonly call: ToolCall;
  readonly spans: readonly TimeSpan[];
}

export interface Timeline {
  readonly from: number;
  readonly to: number;
  /** The spans of the task itself. They have no gaps. */
  readonly spans: readonly TimeSpan[];
  readonly calls: readonly TimedCall[];
}

/** Collects spans. Each span ends where the next one starts. */
class Spans {
  readonly done: TimeSpan[] = [];
  #open: { readonly kind: SpanKind; readonly from: number } | undefined;

  switchTo(kind: SpanKind | undefined, at: number): void {
    if (this.#open?.kind === kind) return;
    this.close(at);
    this.#open = kind && { kind, from: at };
  }

  close(at: number): void {
    const open = this.#open;
    this.#open = undefined;
    if (open && at > open.from) this.done.push({ ...open, to: at });
  }
}

/**
 * Returns the timeline of a log, or undefined if the log has no times. The timeline of an unfinished task ends at
 * `now`, or at the last event if `now` is undefined.
 */
export function timelineOf(
  entries: readonly LogEntry[],
  now: number | undefined,
): Timeline | undefined {
  const task = new Spans();
  const calls = new Map<string, { call: ToolCall; readonly spans: Spans }>();
  let from: number | undefined;
  let at = 0;
  let state: TaskState = 'unknown';
  for (const { event } of entries) {
    if (event.kind === 'artifact-update') continue;
    const time = Date.parse(event.status.timestamp ?? '');
    // The order of the log is always right, but the clock may have been set back. So an earlier time is ignored.
    if (!Number.isNaN(time)) at = Math.max(at, time);
    if (at === 0) continue;
    from ??= at;
    state = event.status.state;
    task.switchTo(kindOf(state), at);
    if (event.kind === 'task') continue;
    for (const fact of readStatus(event).facts) {
      if (fact.kind === 'answer') {
        calls.get(fact.confirmation.tool_call_id)?.spans.switchTo('queue', at);
      } else if (fact.kind === 'call') {
        const { call } = fact;
        const known = calls.get(call.tool_call_id) ?? { call, spans: new Spans() };
        known.call = call;
        known.spans.switchTo(kindOfCall(call), at);
        calls.set(call.tool_call_id, known);
      }
    }
    // A call whose end was not reported ends with its turn.
    if (isTerminal(state)) for (const { spans } of calls.values()) spans.close(at);
  }
  if (from === undefined) return undefined;
  const to = isTerminal(state) ? at : Math.max(at, now ?? at);
  task.close(to);
  for (const { spans } of calls.values()) spans.close(to);
  return {
    from,
    to,
    spans: task.done,
    calls: [...calls.values()].map(({ call, spans }) => ({ call, spans: spans.done })),
  };
}

function kindOf(state: TaskState): SpanKind {
  if (isTerminal(state)) return 'idle';
  if (state === 'input-required' || state === 'auth-required') return 'person';
  return state === 'submitted' ? 'queue' : 'work';
}

function kindOfCall(call: ToolCall): SpanKind | undefined {
  if (hasEnded(call)) return undefined;
  if (call.status !== 'PENDING') return 'work';
  return call.confirmation_request ? 'person' : 'queue';
}

/** Returns the total length of the spans of one kind, in milliseconds. */
export function timeIn(spans: readonly TimeSpan[], kind: SpanKind): number {
  return spans.reduce((sum, span) => sum + (span.kind === kind ? span.to - span.from : 0), 0);
}
