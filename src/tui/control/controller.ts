/**
 * Converts keys to calls of the session. Stores the state of the screen (`ui`) and notifies listeners of its changes.
 *
 * A key goes to the topmost open element: the rewind menu, a pane, a dialog, the text field. Esc closes that element.
 * If nothing is open, Esc cancels the turn and a second Esc opens the rewind menu. Ctrl-C clears the text field, and a
 * second Ctrl-C leaves.
 */
import { reasonOf } from '../../base/index.ts';
import type { LiveSession } from '../../live/client/index.ts';
import { withText, BLANK } from '../input/buffer.ts';
import { completableAt } from '../input/completion.ts';
import {
  composerKey,
  createComposer,
  edited,
  typed,
  withCompletion,
  type Composer,
} from '../input/composer.ts';
import { isCtrl, type KeyPress } from '../input/keys.ts';
import { KEYS, localCommand } from '../input/local-commands.ts';
import { menuKey } from '../input/menu.ts';
import { Answers, cancelOption, isInWords } from './answers.ts';
import { Completions } from './completions.ts';
import type { ExitReason, TuiOptions } from './options.ts';
import { isBusy } from '../state/state.ts';
import { StateStore } from './store.ts';
import { Twice } from './twice.ts';
import { asking, lastPrompt, REWIND_CHOICES, type Ui } from '../view/ui.ts';

/**
 * A dialog ignores keys for this long after the last typed character, so that typing does not answer it by accident.
 */
const TYPING_MS = 600;
const PAGE = 10;

type Suspend = (run: () => Promise<void>) => Promise<void>;

export class Controller {
  readonly session: LiveSession;
  readonly #options: TuiOptions;
  readonly #listeners = new Set<() => void>();
  readonly #store = new StateStore(() => this.#changed({}));
  readonly #twice = new Twice((hint) => this.#changed({ hint }));
  readonly #completions: Completions;
  readonly #answers: Answers;
  readonly #abort = new AbortController();
  readonly #done = Promise.withResolvers<ExitReason>();
  #ui: Ui;
  #suspend: Suspend = (run) => run();
  #typedAt = -Infinity;
  #left = false;

  constructor(session: LiveSession, options: TuiOptions) {
    this.session = session;
    this.#options = options;
    this.#completions = new Completions(session, options.files);
    this.#answers = new Answers(session, {
      editor: options.editor && ((text, name) => this.#edit(text, name)),
      notice: (level, text) => this.notice(level, text),
      answering: (callIds) => this.#changed({ answering: callIds }),
    });
    this.#ui = {
      state: this.#store.state,
      composer: createComposer(options.history?.entries),
      dialog: { callId: '', selected: 0, talking: false },
      answering: new Set(),
      pane: undefined,
      rewind: undefined,
      hint: undefined,
      busySince: undefined,
    };
  }

  get ui(): Ui {
    return this.#ui;
  }

  /** Resolves when the person leaves or the session ends. */
  get done(): Promise<ExitReason> {
    return this.#done.promise;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stores the scroll position that was drawn. The frame limits the position to the content. */
  scrolledTo(scroll: number): void {
    const { pane } = this.#ui;
    if (pane && pane.scroll !== scroll) this.#ui = { ...this.#ui, pane: { ...pane, scroll } };
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
    const reason = await this.done;
    this.#abort.abort();
    this.#twice.clear();
    this.#store.flush();
    this.#store.close();
    return reason;
  }

  leave(reason: ExitReason = 'left'): void {
    this.#left = true;
    this.#done.resolve(reason);
  }

  notice(level: 'info' | 'error', text: string): void {
    this.#store.dispatch({ kind: 'notice', level, text });
  }

  paste(text: string): void {
    const plain = text.replaceAll(/\r\n?/g, '\n');
    this.#typedAt = performance.now();
    this.#compose(typed(this.#ui.composer, plain));
  }

  key(key: KeyPress): void {
    // Two presses count as a double press only if no other key is pressed between them.
    if (key.name !== 'escape' && !isCtrl(key, 'c')) this.#twice.clear();
    if (isCtrl(key, 'c')) this.#interrupt();
    else if (this.#ui.rewind) this.#rewindKey(this.#ui.rewind.selected, key);
    else if (this.#ui.pane) this.#paneKey(this.#ui.pane, key);
    else if (isCtrl(key, 't')) this.#changed({ pane: { kind: 'thoughts', scroll: 0 } });
    else if (isCtrl(key, 'o')) this.#openCall();
    else if (isCtrl(key, 'g')) this.#run(this.#editPrompt());
    else if (!this.#dialogKey(key)) this.#textKey(key);
  }

  #changed(changes: Partial<Ui>): void {
    const { state } = this.#store;
    const busySince = isBusy(state) ? (this.#ui.busySince ?? Date.now()) : undefined;
    const ui: Ui = { ...this.#ui, ...changes, state, busySince };
    const callId = asking(ui)[0]?.call.tool_call_id ?? '';
    const other = callId !== ui.dialog.callId;
    this.#ui = {
      ...ui,
      ...(other && { dialog: { callId, selected: 0, talking: false } }),
      ...(other && ui.pane?.kind === 'request' && { pane: undefined }),
    };
    this.#answers.settled(state);
    for (const listener of this.#listeners) listener();
  }

  #run(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.notice('error', reasonOf(error)));
  }

  #compose(composer: Composer): void {
    this.#changed({ composer });
    const at = completableAt(composer.buffer);
    const asked = composer.buffer;
    if (!at || composer.search) return;
    this.#run(
      this.#completions.choices(at).then((choices) => {
        // The text may have changed while the completions were loaded.
        if (this.#ui.composer.buffer !== asked || this.#ui.composer.browsing) return;
        this.#changed({ composer: withCompletion(this.#ui.composer, at.start, choices) });
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
    this.#typedAt = performance.now();
    // Moving the selection does not change the text.
    if (step.composer.buffer === this.#ui.composer.buffer) {
      this.#changed({ composer: step.composer });
    } else {
      this.#compose(step.composer);
    }
    if (step.submit !== undefined) this.#submit(step.submit);
  }

  #submit(text: string): void {
    this.#typedAt = -Infinity;
    this.#options.history?.add(text);
    const local = localCommand(text);
    const [entry] = this.#ui.dialog.talking ? asking(this.#ui) : [];
    if (local === 'quit') this.leave();
    else if (local === 'keys') this.notice('info', KEYS);
    else this.#run(entry ? this.#answers.speak(entry, text) : this.session.prompt(text));
    this.#changed({ dialog: { ...this.#ui.dialog, talking: false } });
  }

  /** Returns whether the dialog handled the key. */
  #dialogKey(key: KeyPress): boolean {
    const [entry] = asking(this.#ui);
    const { dialog, composer } = this.#ui;
    if (!entry || !this.session.self.roles.includes('approve')) return false;
    const writing = performance.now() - this.#typedAt < TYPING_MS && composer.buffer.text !== '';
    if (key.name === 'tab' && !composer.completion) {
      this.#changed({ dialog: { ...dialog, talking: !dialog.talking } });
      return true;
    }
    if (dialog.talking || composer.completion || composer.search || writing) return false;
    const options = entry.call.confirmation_request?.options ?? [];
    if (key.name === 'escape') {
      const cancel = cancelOption(entry);
      if (!cancel) return false;
      this.#run(this.#answers.choose(entry, cancel));
      return true;
    }
    const step = menuKey(dialog.selected, options.length, key);
    if (!step) return false;
    if ('selected' in step) this.#changed({ dialog: { ...dialog, selected: step.selected } });
    const option = 'chosen' in step ? options[step.chosen] : undefined;
    if (option && isInWords(option)) this.#changed({ dialog: { ...dialog, talking: true } });
    else if (option) this.#run(this.#answers.choose(entry, option));
    return true;
  }

  #openCall(): void {
    const [asked] = asking(this.#ui);
    this.#changed({ pane: { kind: asked ? 'request' : 'call', scroll: 0 } });
  }

  #paneKey(pane: NonNullable<Ui['pane']>, key: KeyPress): void {
    const steps: Partial<Record<KeyPress['name'], number>> = {
      up: -1,
      down: 1,
      'page-up': -PAGE,
      'page-down': PAGE,
    };
    const step = steps[key.name];
    if (step !== undefined) {
      this.#changed({ pane: { ...pane, scroll: Math.max(0, pane.scroll + step) } });
      return;
    }
    this.#changed({ pane: undefined });
    const toggles = key.name === 'escape' || isCtrl(key, 't') || isCtrl(key, 'o');
    if (!toggles) this.key(key);
  }

  #escape(): void {
    const busy = isBusy(this.#ui.state);
    const hint = busy ? 'Canceling. Esc again to go back.' : 'Esc again to go back.';
    if (this.#twice.press('rewind', hint)) this.#changed({ rewind: { selected: 0 } });
    else if (busy) this.#run(this.session.cancel());
  }

  #rewindKey(selected: number, key: KeyPress): void {
    const step = menuKey(selected, REWIND_CHOICES.length, key);
    if (step && 'selected' in step) {
      this.#changed({ rewind: step });
      return;
    }
    if (!step && key.name !== 'escape') return;
    this.#changed({ rewind: undefined });
    if (step?.chosen === 0) {
      const text = lastPrompt(this.#ui, this.session.self.id);
      if (text !== undefined) this.#compose(edited(this.#ui.composer, withText(text)));
    } else if (step?.chosen === 1) {
      this.#run(this.session.prompt('/restore list'));
      this.#compose(edited(this.#ui.composer, withText('/restore ')));
    }
  }

  #interrupt(): void {
    const composer = edited(this.#ui.composer, BLANK);
    this.#changed({ composer, pane: undefined, rewind: undefined });
    if (this.#twice.press('leave', 'Ctrl-C again to leave.')) this.leave();
  }

  async #editPrompt(): Promise<void> {
    if (!this.#options.editor) {
      this.notice('info', 'No editor is configured. Set $EDITOR.');
      return;
    }
    const text = await this.#edit(this.#ui.composer.buffer.text, 'prompt.md');
    if (text !== undefined) this.#compose(edited(this.#ui.composer, withText(text.trimEnd())));
  }

  async #edit(text: string, fileName: string): Promise<string | undefined> {
    let saved: string | undefined;
    await this.#suspend(async () => {
      saved = await this.#options.editor?.(text, fileName);
    });
    return saved;
  }
}
