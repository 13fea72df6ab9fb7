/**
 * What the page shows of a task after each of its events. The log is read once. A state in the past is computed from
 * the nearest state that was kept, so that the slider is fast in a long log.
 */
import { createTextTracker } from '../../../client/index.ts';
import { INITIAL, type SessionAction, type SessionState } from '../../../display/index.ts';
import { reduceState } from '../../../display/state/index.ts';
import type { LiveClient } from '../../../live/client/index.ts';
import { waitingCallsIn } from '../../../protocol/development-tool/index.ts';
import { fold, type LogEntry, type Task } from '../../../protocol/index.ts';

/** Distance between the states that are kept. */
const KEEP_EVERY = 200;

export class PastStates {
  readonly #self: LiveClient;
  readonly #name: string;
  readonly #entries: LogEntry[] = [];
  readonly #actions: SessionAction[] = [];
  /** The states after 0, KEEP_EVERY, 2 × KEEP_EVERY … events. */
  readonly #kept: SessionState[] = [INITIAL];
  readonly #added = createTextTracker();

  constructor(self: LiveClient, name: string) {
    this.#self = self;
    this.#name = name;
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** Adds the next event. Returns what it does to the newest state. */
  add(entry: LogEntry): SessionAction {
    const action = this.#actionOf(entry);
    this.#entries.push(entry);
    this.#actions.push(action);
    return action;
  }

  /** Returns the state after this number of events. */
  stateAfter(count: number): SessionState {
    const end = Math.min(count, this.#actions.length);
    let at = Math.min(Math.floor(end / KEEP_EVERY), this.#kept.length - 1) * KEEP_EVERY;
    let state = this.#kept[at / KEEP_EVERY] ?? INITIAL;
    while (at < end) {
      state = reduceState(state, this.#actions[at]!);
      at += 1;
      if (at % KEEP_EVERY === 0) this.#kept[at / KEEP_EVERY] = state;
    }
    return state;
  }

  /** Returns the task after this number of events. */
  taskAfter(count: number): Task | undefined {
    return fold(this.#entries.slice(0, count).map(({ event }) => event));
  }

  #actionOf({ seq, event }: LogEntry): SessionAction {
    const text = this.#added(event);
    if (event.kind === 'task') return this.#snapshot(event, seq);
    if (event.kind === 'status-update') return { kind: 'event', taskId: event.taskId, seq, event };
    // An agent without the extension answers with artifacts.
    const parts = [{ kind: 'text' as const, text }];
    const message = { kind: 'message', messageId: `${seq}`, role: 'agent', parts } as const;
    return { kind: 'event', taskId: event.taskId, seq, event: message };
  }

  #snapshot(task: Task, seq: number): SessionAction {
    return {
      kind: 'snapshot',
      snapshot: {
        taskId: task.id,
        contextId: task.contextId,
        task,
        pending: waitingCallsIn(task),
        approval: '',
        model: '',
        workspace: this.#name,
        clients: [this.#self],
        seq,
      },
    };
  }
}
