/**
 * Handles key presses, and calls the methods of the session. Stores the state of the screen (`ui`) and notifies
 * listeners when the state changes.
 *
 * Most keys go to the topmost open element: an overlay (overlays.ts), a dialog or the text field. Esc closes an
 * overlay, and rejects the request of a dialog that has the focus. If nothing is open, Esc stops the person's own
 * command. If no such command runs, Esc cancels the turn, and a second Esc opens the rewind menu. Ctrl-C clears the
 * text field and closes overlays, and a second Ctrl-C leaves.
 */
import { reasonOf } from '../../base/index.ts';
import type { LiveSession } from '../../live/client/index.ts';
import { hasOption, mayBeCommand, OPTION, requestId } from '../../protocol/schema-free/index.ts';
import { withText, BLANK } from '../input/buffer.ts';
import {
  completableAt,
  Answers,
  cancelOption,
  isInWords,
  NO_EDITOR,
  OPENING_MS,
  type CallEntry,
  type SessionAction,
  isBusy,
  waitingCalls,
} from '../../display/index.ts';
import {
  composerKey,
  createComposer,
  edited,
  pasted,
  textIn,
  withCompletion,
  type Composer,
} from '../input/composer.ts';
import { isCtrl, isPlainEnter, type KeyPress } from '../input/keys.ts';
import { menuKey } from '../input/menu.ts';
import { Alerts } from './alerts.ts';
import { Completions } from './completions.ts';
import type { ExitReason, TuiOptions } from './options.ts';
import { Overlays } from './overlays.ts';
import type { DrawnDialog } from '../view/dialog-lines.ts';
import type { ScreenFrame } from '../view/frame.ts';
import { StateStore } from './store.ts';
import { Twice } from './twice.ts';
import { TypedText, type TextHost } from './typed-text.ts';
import { asking, NO_DIALOG, type DialogFocus, type Ui } from '../view/ui.ts';

/** For this time after a typed key, a dialog that opens does not get the keys. */
const TYPING_MS = 1000;

type Suspend = (run: () => Promise<void>) => Promise<void>;

export class Controller implements TextHost {
  readonly session: LiveSession;
  readonly alerts: Alerts;
  readonly #options: TuiOptions;
  readonly #listeners = new Set<() => void>();
  readonly #store: StateStore;
  readonly #twice = new Twice((hint) => this.change({ hint }));
  readonly #completions: Completions;
  readonly #answers: Answers;
  readonly #overlays: Overlays;
  readonly #typedText: TypedText;
  readonly #abort = new AbortController();
  readonly #done = Promise.withResolvers<ExitReason>();
  #ui: Ui;
  #suspend: Suspend = (run) => run();
  #clear: () => void = () => {};
  #typedAt = -Infinity;
  /**
   * Whether the current key is followed by keys that arrived together with it. Such a key does not move the focus to
   * the options of a dialog, because the next key could then choose an option.
   */
  #more = false;
  /** The dialog that is on the screen. */
  #drawn: DrawnDialog | undefined;
  #opening: NodeJS.Timeout | undefined;
  #left = false;

  constructor(session: LiveSession, options: TuiOptions) {
    this.session = session;
    this.#options = options;
    this.alerts = new Alerts(options);
    const { causeOf, notices } = options;
    const { tell } = this.alerts;
    this.#store = new StateStore(() => this.change({}), { causeOf, notices, tell });
    this.#completions = new Completions(session, options.files);
    this.#answers = new Answers(session, {
      editor: options.editor && ((text, name) => this.#edit(text, name)),
      notice: (level, text) => this.notice(level, text),
      answering: (answering) => this.change({ answering }),
    });
    this.#overlays = new Overlays(this, options.checkpoints);
    this.#typedText = new TypedText(this, {
      options,
      overlays: this.#overlays,
      completions: this.#completions,
    });
    this.#ui = {
      state: this.#store.state,
      composer: createComposer(options.history?.entries),
      dialog: NO_DIALOG,
      answering: new Set(),
      pane: undefined,
      rewind: undefined,
      picker: undefined,
      command: undefined,
      mode: undefined,
      drawing: 0,
      hint: undefined,
      busySince: undefined,
    };
  }

  get ui(): Ui {
    return this.#ui;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Stores which dialog was drawn, and the scroll position at which the pane was drawn. The drawn position is never
   * beyond the end of the content.
   */
  drew({ scroll, dialog }: Pick<ScreenFrame, 'scroll' | 'dialog'>): void {
    const { pane } = this.#ui;
    if (pane && scroll !== undefined && pane.scroll !== scroll) {
      this.#ui = { ...this.#ui, pane: { ...pane, scroll } };
    }
    const isNew = dialog?.request !== this.#drawn?.request;
    this.#drawn = dialog;
    if (isNew) this.#waitUntilSeen();
  }

  /** Sets the function that suspends the screen while an editor runs. */
  useTerminal(suspend: Suspend): void {
    this.#suspend = suspend;
  }

  /** Follows the session until it ends or the person leaves. */
  async run(): Promise<ExitReason> {
    this.#store.follow(this.session, this.#abort.signal).then(
      () => this.leave('ended'),
      (error: unknown) => {
        if (!this.#left) this.notice('error', reasonOf(error));
        this.leave('ended');
      },
    );
    if (this.#options.remoteAtStart) this.attempt(this.#typedText.share('remote', []));
    const { prompt = '' } = this.#options;
    // The prompt is sent as it is, because a text from a script must not run as a command of the person's shell.
    if (prompt.trim() !== '') this.attempt(this.session.prompt(prompt));
    const reason = await this.#done.promise;
    // The alerts must stop before Ink stops reading the input. Otherwise, their listener would keep reading the input.
    this.alerts.stop();
    this.#abort.abort();
    this.#twice.clear();
    this.#typedText.close();
    clearTimeout(this.#opening);
    this.#store.flush();
    this.#store.close();
    return reason;
  }

  leave(reason: ExitReason = 'left'): void {
    this.#left = true;
    this.#done.resolve(reason);
  }

  notice(level: 'info' | 'error', text: string): void {
    this.dispatch({ kind: 'notice', level, text });
  }

  dispatch(action: SessionAction): void {
    this.#store.dispatch(action);
  }

  paste(text: string): void {
    const plain = text.replaceAll(/\r\n?/g, '\n');
    const composer = pasted(this.#ui.composer, plain);
    if (!composer) {
      const advice = 'Save it in a file, and mention the file with @.';
      const why = `The pasted text (${plain.length} characters) does not fit into this message.`;
      this.notice('error', `${why} ${advice}`);
      return;
    }
    this.#typing();
    this.#compose(composer);
  }

  /** Sets the function that clears the screen. */
  useClear(clear: () => void): void {
    this.#clear = clear;
  }

  /** Draws the whole screen again. */
  redraw(): void {
    this.#clear();
    this.change({ drawing: this.#ui.drawing + 1 });
  }

  /**
   * Handles keys that arrived together. If there are several keys, they were typed ahead, or pasted by a terminal that
   * does not mark pastes. They never choose an option of a dialog, but several Esc keys may reject the request. With
   * `isBeforePaste`, a pasted text arrived together with the keys and follows them.
   */
  keys(keys: readonly KeyPress[], isBeforePaste = false): void {
    const together =
      (keys.length > 1 || isBeforePaste) && keys.some(mayChoose) && !keys.every(isEscape);
    if (together && this.#ui.dialog.focus === 'options') this.#focus('draft');
    for (const [index, each] of keys.entries()) {
      this.#more = together && (isBeforePaste || index < keys.length - 1);
      const { focus } = this.#ui.dialog;
      this.key(each);
      // This key has moved the focus from the text field to the options. The keys after it are dropped, because they
      // could choose an option.
      if (focus === 'answer' && this.#ui.dialog.focus === 'options') return;
    }
  }

  key(key: KeyPress): void {
    // Two presses count as a double press only if no other key is pressed between them.
    if (key.name !== 'escape' && !isCtrl(key, 'c')) this.#twice.clear();
    if (isCtrl(key, 'c')) this.#interrupt();
    else if (isCtrl(key, 'l')) this.redraw();
    else if (this.#overlays.key(key)) return;
    else if (key.name === 'tab' && key.shift) this.#typedText.nextMode();
    else if (isCtrl(key, 't')) this.change({ pane: { kind: 'thoughts', scroll: 0 } });
    else if (isCtrl(key, 'o')) this.#overlays.openCall();
    else if (isCtrl(key, 'g')) this.attempt(this.#editPrompt());
    else if (!this.#dialogKey(key)) this.#textKey(key);
  }

  /** Changes the state of the screen, and notifies the listeners. */
  change(changes: Partial<Ui>): void {
    const { state } = this.#store;
    const busySince = isBusy(state) ? (this.#ui.busySince ?? Date.now()) : undefined;
    // When the session's mode changes, the screen shows the new mode instead of the mode that was chosen here.
    const isSet = state.approval !== this.#ui.state.approval && { mode: undefined };
    const ui: Ui = { ...this.#ui, ...isSet, ...changes, state, busySince };
    const [asked] = asking(ui);
    const request = asked ? requestId(asked.call) : '';
    const other = request !== ui.dialog.request;
    const focus = this.#isTyping(ui) ? 'draft' : 'opening';
    this.#ui = {
      ...ui,
      ...(other && { dialog: { request, focus, selected: undefined } }),
      ...(other && ui.pane?.kind === 'request' && { pane: undefined }),
    };
    this.#answers.settled(state);
    for (const listener of this.#listeners) listener();
  }

  /** Shows the error if `work` rejects. */
  attempt(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.notice('error', reasonOf(error)));
  }

  #compose(composer: Composer): void {
    this.change({ composer });
    const at = completableAt(composer.buffer);
    const asked = composer.buffer;
    if (!at || composer.search) return;
    this.attempt(
      this.#completions.choices(at).then((choices) => {
        // The text may have changed while the completions were loaded.
        if (this.#ui.composer.buffer !== asked || this.#ui.composer.browsing) return;
        this.change({ composer: withCompletion(this.#ui.composer, at.start, choices) });
      }),
    );
  }

  #textKey(key: KeyPress): void {
    const step = composerKey(this.#ui.composer, key);
    if (!step) {
      if (key.name === 'escape') this.#escape();
      else if (isCtrl(key, 'd') && this.#ui.composer.buffer.text === '') this.leave();
      return;
    }
    // The key has not changed the text or the cursor, for example because it moved the selection among the completions.
    if (step.composer.buffer === this.#ui.composer.buffer) {
      this.#typedAt = performance.now();
      this.change({ composer: step.composer });
    } else {
      this.#typing();
      this.#compose(step.composer);
    }
    if (step.submit !== undefined) this.#submit(step.submit);
  }

  #submit(text: string): void {
    // Submitting ends the typing, so the next dialog may take the keys. But if a dialog is already open, the person may
    // continue to type. Then a dialog that opens within TYPING_MS does not get the keys.
    this.#typedAt = this.#ui.dialog.request === '' ? -Infinity : performance.now();
    this.#options.history?.add(text);
    const [entry] = this.#ui.dialog.focus === 'answer' ? asking(this.#ui) : [];
    this.attempt(entry ? this.#answers.speak(entry, text) : this.#typedText.handle(text));
    this.#focus('draft');
  }

  /** Returns whether the person is typing. If so, a dialog that opens does not get the keys. */
  #isTyping({ composer }: Ui): boolean {
    const recently = performance.now() - this.#typedAt < TYPING_MS;
    return recently || composer.buffer.text !== '' || composer.search !== undefined;
  }

  /** Records that the person is typing. An open dialog gets no more keys until the person moves to it. */
  #typing(): void {
    this.#typedAt = performance.now();
    if (this.#ui.dialog.focus !== 'answer') this.#focus('draft');
  }

  #focus(focus: DialogFocus): void {
    const { dialog } = this.#ui;
    if (dialog.request !== '' && dialog.focus !== focus) {
      this.change({ dialog: { ...dialog, focus } });
    }
  }

  /** Lets the dialog take keys after it was on the screen for OPENING_MS without a key press. */
  #waitUntilSeen(): void {
    clearTimeout(this.#opening);
    const request = this.#drawn?.request;
    if (request === undefined) return;
    this.#opening = setTimeout(() => {
      const { dialog } = this.#ui;
      if (dialog.request !== request || dialog.focus !== 'opening') return;
      this.#focus(this.#isTyping(this.#ui) ? 'draft' : 'options');
    }, OPENING_MS);
  }

  /** Returns whether the dialog handled the key. */
  #dialogKey(key: KeyPress): boolean {
    const [entry] = asking(this.#ui);
    const { dialog, composer } = this.#ui;
    if (!entry || !this.session.self.roles.includes('approve')) return false;
    if (composer.completion || composer.search) return false;
    switch (dialog.focus) {
      case 'opening':
        this.#waitUntilSeen();
        // Typed text is kept. Every other key is ignored.
        return key.name !== 'text' || key.ctrl || key.alt;
      case 'draft':
        return this.#draftKey(key);
      case 'answer':
        if (key.name !== 'tab' && key.name !== 'escape') return false;
        this.#focus('options');
        return true;
      default:
        return this.#optionsKey(entry, key);
    }
  }

  #draftKey(key: KeyPress): boolean {
    const { buffer, browsing } = this.#ui.composer;
    const before = buffer.text.slice(0, buffer.cursor);
    const after = buffer.text.slice(buffer.cursor);
    const leaves =
      browsing === undefined &&
      ((key.name === 'up' && !before.includes('\n')) ||
        (key.name === 'down' && !after.includes('\n')));
    if (key.name === 'tab' || leaves) {
      if (!this.#more) this.#focus('options');
      return true;
    }
    const sends = isPlainEnter(key) && buffer.text.trim() !== '' && !before.endsWith('\\');
    if (key.name === 'escape' || (sends && this.#mayBeAnswer(buffer.text))) {
      this.#twice.clear();
      this.#twice.press('answer', 'A question is waiting. Tab moves to it. Your text is kept.');
      return true;
    }
    return false;
  }

  /**
   * Returns whether this prompt may be meant as the answer to the open questions. Some servers would treat it as the
   * answer.
   */
  #mayBeAnswer(text: string): boolean {
    const waiting = waitingCalls(this.#ui.state);
    return !mayBeCommand(text) && waiting.every(({ call }) => hasOption(call, OPTION.words));
  }

  #optionsKey(entry: CallEntry, key: KeyPress): boolean {
    const { dialog } = this.#ui;
    const options = entry.call.confirmation_request?.options ?? [];
    // A request that is not on the screen cannot be answered.
    if (this.#drawn?.request !== dialog.request) return key.name !== 'text';
    if (key.name === 'tab') {
      this.#focus('answer');
      return true;
    }
    if (key.name === 'page-up' || key.name === 'page-down') {
      this.#overlays.openCall();
      return true;
    }
    if (key.name === 'enter' && !isPlainEnter(key)) return true;
    const cancel = cancelOption(entry);
    if (key.name === 'escape') {
      if (cancel) this.attempt(this.#answers.choose(entry, cancel));
      return cancel !== undefined;
    }
    const step = menuKey(dialog.selected ?? this.#drawn.selected, options.length, key);
    if (!step) {
      const isAnswer = key.name === 'text' && !key.ctrl && hasOption(entry.call, OPTION.words);
      if (isAnswer) this.#focus('answer');
      return false;
    }
    if ('selected' in step) this.change({ dialog: { ...dialog, selected: step.selected } });
    const option = 'chosen' in step ? options[step.chosen] : undefined;
    if (option && isInWords(option)) this.#focus('answer');
    else if (option) this.attempt(this.#answers.choose(entry, option));
    return true;
  }

  #escape(): void {
    if (this.#typedText.stopCommand()) return;
    const busy = isBusy(this.#ui.state);
    const hint = busy ? 'Canceling. Esc again to go back.' : 'Esc again to go back.';
    if (this.#twice.press('rewind', hint)) this.change({ rewind: { selected: 0 } });
    else if (busy) this.attempt(this.session.cancel({ keepQueue: true }));
  }

  #interrupt(): void {
    const composer = edited(this.#ui.composer, BLANK);
    this.change({ composer, pane: undefined, rewind: undefined, picker: undefined });
    if (this.#twice.press('leave', 'Ctrl-C again to leave.')) this.leave();
  }

  /** Replaces the text in the text field. */
  write(text: string): void {
    this.#typing();
    this.#compose(edited(this.#ui.composer, withText(text)));
  }

  async #editPrompt(): Promise<void> {
    if (!this.#options.editor) {
      this.notice('info', NO_EDITOR);
      return;
    }
    const text = await this.#edit(textIn(this.#ui.composer), 'prompt.md');
    if (text !== undefined) this.write(text.trimEnd());
  }

  async #edit(text: string, fileName: string): Promise<string | undefined> {
    let saved: string | undefined;
    // The editor must not get the terminal's reports, and must be the only reader of the input.
    this.alerts.stop();
    try {
      await this.#suspend(async () => {
        saved = await this.#options.editor?.(text, fileName);
      });
    } finally {
      // If the person has left in the meantime, or the session has ended, `run` has stopped the alerts for good.
      if (!this.#left) this.alerts.start();
    }
    return saved;
  }
}

/** Returns whether this key may choose an option of a dialog. */
function mayChoose({ name }: KeyPress): boolean {
  return name === 'enter' || name === 'escape' || name === 'text';
}

function isEscape({ name }: KeyPress): boolean {
  return name === 'escape';
}
