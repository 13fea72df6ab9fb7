/**
 * Computes what the page shows of a task after each of its events. Every KEEP_EVERY-th state is kept. The other states
 * are computed from the nearest earlier kept state, so that the slider is fast in a long log.
 */
import { INITIAL, type SessionAction, type SessionState } from '../../../display/index.ts';
import { reduceState } from '../../../display/state/index.ts';
import type { LiveClient } from '../../../live/client/index.ts';
import { fold, type LogEntry, type Task } from '../../../protocol/index.ts';
import { TaskItems } from '../session/task-items.ts';

/** The number of events between two kept states. */
const KEEP_EVERY = 200;

export class PastStates {
  readonly #items: TaskItems;
  readonly #entries: LogEntry[] = [];
  readonly #actions: SessionAction[] = [];
  /** The states after 0, KEEP_EVERY, 2 × KEEP_EVERY … events. */
  readonly #kept: SessionState[] = [INITIAL];

  constructor(self: LiveClient, name: string) {
    this.#items = new TaskItems(self, name);
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** Adds the next event. Returns the action that applies the event to the newest state. */
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

  /** Returns the task after this number of events, or undefined if there are no events. */
  taskAfter(count: number): Task | undefined {
    return fold(this.#entries.slice(0, count).map(({ event }) => event));
  }

  #actionOf({ seq, event }: LogEntry): SessionAction {
    const message = this.#items.addedBy(event, `${seq}`);
    if (event.kind === 'task') return this.#items.snapshot(event, seq);
    const shown = event.kind === 'artifact-update' ? (message ?? event) : event;
    return { kind: 'event', taskId: event.taskId, seq, event: shown };
  }
}
