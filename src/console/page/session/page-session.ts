/**
 * The session as this page shows it. Each item changes the state immediately, but the page is drawn at most once per
 * frame.
 */
import { signal } from '@preact/signals';
import { reasonOf } from '../../../base/index.ts';
import {
  Answers,
  cleanLine,
  INITIAL,
  isBusy,
  waitingCalls,
  type CallEntry,
  type SessionAction,
  type SessionState,
} from '../../../display/index.ts';
import { reduceState } from '../../../display/state/index.ts';
import type { LiveSession } from '../../../live/client/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import { hasOption, mayBeCommand, OPTION, requestId } from '../../../protocol/schema-free/index.ts';
import { SERVER_KIND } from '../server/access.ts';

/** The proposed content of a file, which the person edits before it is written. */
export interface Editing {
  readonly fileName: string;
  readonly text: string;
  readonly done: (text: string | undefined) => void;
}

/** A hidden page gets no frames, so it is updated this many milliseconds after a change. */
const HIDDEN_MS = 200;

/** Whether prompts that are sent while a turn runs are queued. Only a live session has a queue. */
export const HAS_QUEUE = SERVER_KIND === 'live';

export class PageSession {
  readonly session: LiveSession;
  /**
   * The number of entries that the page had shown before it loaded all earlier messages. These are the newest entries
   * now. 0 if the page has not loaded all messages.
   */
  readonly seen: number;
  readonly state = signal<SessionState>(INITIAL);
  readonly connection = signal<'connected' | 'reconnecting' | 'ended'>('connected');
  /** Why the session ended, if it failed. */
  readonly problem = signal('');
  readonly editing = signal<Editing | undefined>(undefined);
  readonly answering = signal<ReadonlySet<string>>(new Set());
  /** The time when this page first saw the running turn, or undefined if no turn is running. */
  readonly busySince = signal<number | undefined>(undefined);
  readonly answers: Answers;
  #latest: SessionState = INITIAL;
  #frame: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(session: LiveSession, seen = 0) {
    this.session = session;
    this.seen = seen;
    this.answers = new Answers(session, {
      editor: (text, fileName) => this.#edit(text, fileName),
      notice: (level, text) => this.dispatch({ kind: 'notice', level, text }),
      answering: (requests) => (this.answering.value = requests),
    });
  }

  /** Reads the session until it ends. Resolves with the error if it has failed. */
  async follow(): Promise<unknown> {
    let failure: unknown;
    try {
      for await (const item of this.session.items()) this.dispatch(item);
    } catch (error) {
      failure = error;
      this.problem.value = reasonOf(error);
    }
    this.connection.value = 'ended';
    return failure;
  }

  dispatch(action: SessionAction): void {
    this.#latest = reduceState(this.#latest, action);
    if (this.#frame !== undefined) return;
    this.#frame = requestAnimationFrame(() => this.flush());
    this.#timer = setTimeout(() => this.flush(), HIDDEN_MS);
  }

  flush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = undefined;
    this.answers.settled(this.#latest);
    if (!isBusy(this.#latest)) this.busySince.value = undefined;
    else this.busySince.value ??= Date.now();
    this.state.value = this.#latest;
  }

  /**
   * Sends the text of the prompt field. In a session without a queue, throws A2AError in these cases:
   *
   * - A turn is running.
   * - Several calls wait for an answer. The agent would take the text as the answer to all of them, but the dialog
   *   shows only one of them.
   * - One call waits for an answer, and the text cannot answer this call.
   */
  async prompt(text: string): Promise<void> {
    const [entry, ...others] = HAS_QUEUE ? [] : waitingCalls(this.#latest);
    if (entry) {
      const isAnswer = hasOption(entry.call, OPTION.words) && !mayBeCommand(text);
      if (isAnswer && others.length === 0) return this.answers.speak(entry, text);
      throw new A2AError('unsupportedOperation', 'Answer the open question first.');
    }
    if (!HAS_QUEUE && isBusy(this.#latest)) {
      const why = 'The agent is still working. Send the prompt when the turn has ended.';
      throw new A2AError('unsupportedOperation', why);
    }
    await this.session.prompt(text);
  }

  /** Runs an action of the person, and shows its error. */
  run(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.dispatch({ kind: 'notice', level: 'error', text: reasonOf(error) });
    });
  }

  /** The calls that wait for an answer and that were not answered on this page, the oldest first. */
  get asking(): CallEntry[] {
    const answering = this.answering.value;
    return waitingCalls(this.state.value).filter(({ call }) => !answering.has(requestId(call)));
  }

  get mayApprove(): boolean {
    return this.session.self.roles.includes('approve');
  }

  get mayPrompt(): boolean {
    return this.session.self.roles.includes('prompt');
  }

  async #edit(text: string, fileName: string): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.editing.value?.done(undefined);
    this.editing.value = { fileName, text, done: resolve };
    const saved = await promise;
    this.editing.value = undefined;
    return saved;
  }
}

/** Returns the name of the session's folder. */
export function folderOf({ place }: SessionState): string {
  return cleanLine(place?.workspace.split(/[/\\]/).findLast((part) => part !== '') ?? 'Parley');
}
