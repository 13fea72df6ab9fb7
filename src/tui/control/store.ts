/**
 * The session's state with those who watch it. Items change it at once; watchers hear of them at most every few
 * hundredths of a second, however fast they come, so that a stream of words costs no more than can be seen.
 */
import type { LiveSession } from '../../live/client/index.ts';
import { INITIAL, type Action, type State } from '../state/state.ts';

const FRAME_MS = 33;

type Reduce = (state: State, action: Action) => State;

export class SessionStore {
  readonly #onChange: () => void;
  /** Loaded while the first frame is drawn. */
  readonly #reducer = import('../state/reduce.ts');
  #reduce: Reduce | undefined;
  readonly #early: Action[] = [];
  #state: State = INITIAL;
  #timer: NodeJS.Timeout | undefined;
  #told = 0;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get state(): State {
    return this.#state;
  }

  dispatch(action: Action): void {
    if (!this.#reduce) {
      this.#early.push(action);
      return;
    }
    this.#state = this.#reduce(this.#state, action);
    if (this.#timer) return;
    const wait = this.#told + FRAME_MS - performance.now();
    // Even the first is told later: what comes with it belongs in the same frame.
    this.#timer = setTimeout(() => this.flush(), Math.max(0, wait));
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#told = performance.now();
    this.#onChange();
  }

  /** Takes in what happens until the session ends or the signal says so. */
  async follow(session: LiveSession, signal: AbortSignal): Promise<void> {
    ({ reduceState: this.#reduce } = await this.#reducer);
    for (const action of this.#early.splice(0)) this.dispatch(action);
    for await (const item of session.items({ signal })) this.dispatch(item);
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
