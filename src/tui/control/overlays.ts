/**
 * The elements above the text field that take all keys except Ctrl-C and Ctrl-L while they are open: the rewind menu, a
 * pane, and the picker of checkpoints.
 */
import type { LiveSession } from '../../live/client/index.ts';
import { isCtrl, STEPS, type KeyPress } from '../input/keys.ts';
import { menuKey } from '../input/menu.ts';
import { pickerKey, selectedItem } from '../input/picker.ts';
import { asking, lastPrompt, rewindChoices, type Ui } from '../view/ui.ts';
import type { TuiOptions } from './options.ts';

/** The part of the controller that an overlay needs. */
export interface OverlayHost {
  readonly ui: Ui;
  readonly session: LiveSession;
  change(changes: Partial<Ui>): void;
  /** Shows the error if `work` rejects. */
  attempt(work: Promise<unknown>): void;
  /** Replaces the text in the text field. */
  write(text: string): void;
  key(key: KeyPress): void;
  /** Draws the whole screen again. */
  redraw(): void;
}

export class Overlays {
  readonly #host: OverlayHost;
  readonly #checkpoints: TuiOptions['checkpoints'];

  constructor(host: OverlayHost, checkpoints: TuiOptions['checkpoints']) {
    this.#host = host;
    this.#checkpoints = checkpoints;
  }

  /** Returns whether an overlay is open and has handled the key. */
  key(key: KeyPress): boolean {
    const { rewind, picker, pane } = this.#host.ui;
    if (rewind) this.#rewindKey(rewind.selected, key);
    else if (picker) this.#pickerKey(picker, key);
    else if (pane) this.#paneKey(pane, key);
    else return false;
    return true;
  }

  openCall(): void {
    const [asked] = asking(this.#host.ui);
    this.#host.change({ pane: { kind: asked ? 'request' : 'call', scroll: 0 } });
  }

  /** Opens the picker of checkpoints. If it would be empty, asks the session to list its checkpoints as text. */
  async openRestore(): Promise<void> {
    const host = this.#host;
    const items = (await this.#checkpoints?.list()) ?? [];
    if (items.length === 0) {
      await host.session.prompt('/restore list');
      if (!this.#checkpoints) host.write('/restore ');
      return;
    }
    host.change({ picker: { items, query: '', selected: 0, title: 'Restore a checkpoint' } });
    this.#preview();
  }

  #rewindKey(selected: number, key: KeyPress): void {
    const host = this.#host;
    const choices = rewindChoices(host.ui);
    const step = menuKey(selected, choices.length, key);
    if (step && 'selected' in step) {
      host.change({ rewind: step });
      return;
    }
    if (!step && key.name !== 'escape') return;
    host.change({ rewind: undefined });
    switch (step && choices[step.chosen]?.id) {
      case 'edit': {
        const text = lastPrompt(host.ui, host.session.self.id);
        if (text !== undefined) host.write(text);
        break;
      }
      case 'restore':
        host.attempt(this.openRestore());
        break;
      case 'drop':
        // Without `keepQueue`, `cancel` also drops the queued prompts.
        host.attempt(host.session.cancel());
        break;
      default:
    }
  }

  #pickerKey(picker: NonNullable<Ui['picker']>, key: KeyPress): void {
    const step = pickerKey(picker, key);
    if ('picker' in step) {
      this.#host.change({ picker: step.picker });
      this.#preview();
      return;
    }
    this.#host.change({ picker: undefined });
    // The picker filled the screen and moved the conversation into the scrollback. So the screen is drawn again.
    this.#host.redraw();
    if (step.picked === undefined) return;
    this.#host.attempt(this.#host.session.prompt(`/restore ${step.picked}`));
  }

  /** Loads the preview of the selected checkpoint. */
  #preview(): void {
    const { picker } = this.#host.ui;
    const id = picker && selectedItem(picker)?.id;
    if (id === undefined || !this.#checkpoints || picker?.preview?.id === id) return;
    this.#host.attempt(
      this.#checkpoints.changes(id).then((lines) => {
        const now = this.#host.ui.picker;
        if (now && selectedItem(now)?.id === id) {
          this.#host.change({ picker: { ...now, preview: { id, lines } } });
        }
      }),
    );
  }

  #paneKey(pane: NonNullable<Ui['pane']>, key: KeyPress): void {
    const step = STEPS[key.name];
    if (step !== undefined) {
      // The frame limits the position to the content.
      this.#host.change({ pane: { ...pane, scroll: Math.max(0, pane.scroll + step) } });
      return;
    }
    this.#host.change({ pane: undefined });
    const toggles = key.name === 'escape' || isCtrl(key, 't') || isCtrl(key, 'o');
    // The key also goes to the element below the pane. A dialog does not get it, because the pane covered the dialog.
    if (!toggles && asking(this.#host.ui).length === 0) this.#host.key(key);
  }
}
