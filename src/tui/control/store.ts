/**
 * Holds the session's state. Each item changes it at once, but the listener is called at most once per frame, however
 * fast items arrive.
 */
import type { LiveSession } from '../../live/client/index.ts';
import { reduceState } from '../state/reduce.ts';
import { INITIAL, type SessionAction, type SessionState } from '../state/state.ts';

const FRAME_MS = 33;

export class StateStore {
  readonly #onChange: () => void;
  #state: SessionState = INITIAL;
  #timer: NodeJS.Timeout | undefined;
  #notified = 0;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get state(): SessionState {
    return this.#state;
  }

  dispatch(action: SessionAction): void {
    this.#state = reduceState(this.#state, action);
    if (this.#timer) return;
    const wait = this.#notified + FRAME_MS - performance.now();
    // Even the first notification is deferred: items that arrive together belong in one frame.
    this.#timer = setTimeout(() => this.flush(), Math.max(0, wait));
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#notified = performance.now();
    this.#onChange();
  }

  /** Reads the session until it ends or the signal is aborted. */
  async follow(session: LiveSession, signal: AbortSignal): Promise<void> {
    for await (const item of session.items({ signal })) this.dispatch(item);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
