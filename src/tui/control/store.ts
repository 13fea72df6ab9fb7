/**
 * Holds the session's state. After the reducer is loaded, each item changes the state immediately. But the listener is
 * called at most once per frame, unless other code calls `flush`.
 */
import type { LiveSession } from '../../live/client/index.ts';
import type { TuiOptions } from './options.ts';
import {
  attentionSince,
  type Attention,
  INITIAL,
  type SessionAction,
  type SessionState,
} from '../../display/index.ts';

const FRAME_MS = 33;

type CauseOf = TuiOptions['causeOf'];
type Reduce = (state: SessionState, action: SessionAction, causeOf?: CauseOf) => SessionState;

type StoreOptions = Pick<TuiOptions, 'causeOf' | 'notices'> & {
  /** Called when the person should be told something. */
  readonly tell?: ((attention: Attention) => void) | undefined;
};

export class StateStore {
  readonly #onChange: () => void;
  readonly #causeOf: CauseOf;
  readonly #tell: StoreOptions['tell'];
  readonly #ignoreNotices: (() => void) | undefined;
  /** Loads the reducer, and with it the schemas, while the first frame is drawn. */
  readonly #reducer = import('../../display/state/index.ts');
  #reduce: Reduce | undefined;
  /** The actions that came before the reducer was loaded. */
  readonly #early: SessionAction[] = [];
  #state: SessionState = INITIAL;
  #timer: NodeJS.Timeout | undefined;
  #notified = 0;

  constructor(onChange: () => void, { causeOf, notices, tell }: StoreOptions) {
    this.#onChange = onChange;
    this.#tell = tell;
    this.#causeOf = causeOf;
    this.#ignoreNotices = notices?.((notice) => this.dispatch(notice));
  }

  get state(): SessionState {
    return this.#state;
  }

  dispatch(action: SessionAction): void {
    if (!this.#reduce) {
      this.#early.push(action);
      return;
    }
    const before = this.#state;
    this.#state = this.#reduce(before, action, this.#causeOf);
    if (this.#tell) for (const each of attentionSince(before, this.#state)) this.#tell(each);
    if (this.#timer) return;
    const wait = this.#notified + FRAME_MS - performance.now();
    // Even the first notification is deferred, because items that arrive together belong in one frame.
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
    ({ reduceState: this.#reduce } = await this.#reducer);
    for (const action of this.#early.splice(0)) this.dispatch(action);
    for await (const item of session.items({ signal })) this.dispatch(item);
  }

  close(): void {
    this.#ignoreNotices?.();
    clearTimeout(this.#timer);
  }
}
