/** The state of the screen, and queries on it. */
import { requestId } from '../../protocol/schema-free/index.ts';
import type { Composer } from '../input/composer.ts';
import type { Picker } from '../input/picker.ts';
import {
  type CallEntry,
  type ThoughtEntry,
  waitingCalls,
  type SessionState,
} from '../../display/index.ts';

/**
 * The part of the screen that gets the keys while a dialog is open.
 *
 * - `opening`: the dialog has just appeared. No key answers it, because the person may not have seen it yet.
 * - `draft`: the person was typing when the dialog appeared, or has typed since. The keys go to the text field until
 *   the person moves to the dialog.
 * - `options`: the keys choose an option.
 * - `answer`: the text field takes the answer to a question, or the reason to reject a call.
 */
export type DialogFocus = 'opening' | 'draft' | 'options' | 'answer';

export interface Dialog {
  /** The id of the request, or empty if no dialog is open. */
  readonly request: string;
  readonly focus: DialogFocus;
  /** The option that the person has moved to, or undefined before they have moved. */
  readonly selected: number | undefined;
}

export const NO_DIALOG: Dialog = { request: '', focus: 'opening', selected: undefined };

export interface Ui {
  readonly state: SessionState;
  readonly composer: Composer;
  readonly dialog: Dialog;
  /** Ids of the requests that were answered in this terminal and whose answers the session has not confirmed yet. */
  readonly answering: ReadonlySet<string>;
  readonly pane:
    | { readonly kind: 'thoughts' | 'call' | 'request'; readonly scroll: number }
    | undefined;
  /** Set while the rewind menu is open. */
  readonly rewind: { readonly selected: number } | undefined;
  /** Set while the person chooses a checkpoint. */
  readonly picker: Picker | undefined;
  /** The person's own command while it runs, with the end of its output. */
  readonly command:
    | { readonly command: string; readonly output: string; readonly since: number }
    | undefined;
  /** The approval mode that the person has chosen. It is reset when the session's mode changes. */
  readonly mode: string | undefined;
  /** Increases when the whole screen has to be drawn again. */
  readonly drawing: number;
  readonly hint: string | undefined;
  /** The time when this terminal first saw the running turn, or undefined if no turn is running. */
  readonly busySince: number | undefined;
}

export interface RewindChoice {
  readonly id: 'edit' | 'restore' | 'drop' | 'stay';
  readonly name: string;
  readonly description?: string;
}

export function rewindChoices({ state }: Pick<Ui, 'state'>): readonly RewindChoice[] {
  const queued = state.queued.length;
  return [
    { id: 'edit', name: 'Edit the last prompt', description: 'and send it again' },
    {
      id: 'restore',
      name: 'Go back to a checkpoint',
      description: 'with /restore, which also restores the files',
    },
    ...(queued > 0
      ? [{ id: 'drop' as const, name: `Cancel the turn, and drop the queued prompts (${queued})` }]
      : []),
    { id: 'stay', name: 'Stay here' },
  ];
}

/**
 * Returns the calls that wait for an answer and that were not answered in this terminal, the oldest first. The dialog
 * shows the oldest call.
 */
export function asking({ state, answering }: Ui): CallEntry[] {
  return waitingCalls(state).filter(({ call }) => !answering.has(requestId(call)));
}

/** Returns the last call, for Ctrl-O. */
export function lastCall({ state }: Ui): CallEntry | undefined {
  const isCall = (entry: { kind: string }): entry is CallEntry => entry.kind === 'call';
  return state.log.open.findLast(isCall) ?? state.log.finished.findLast(isCall);
}

/** Returns the thoughts since the last prompt. */
export function thoughtsOfTurn({ state }: Ui): ThoughtEntry[] {
  const entries = [...state.log.finished, ...state.log.open];
  const since = entries.findLastIndex(({ kind }) => kind === 'prompt') + 1;
  return entries.slice(since).filter((entry) => entry.kind === 'thought');
}

/** Returns the last prompt of this client or of an unknown sender, or undefined if there is no such prompt. */
export function lastPrompt({ state }: Ui, self: string): string | undefined {
  const entries = [...state.log.finished, ...state.log.open];
  const own = entries.findLast(
    (entry) => entry.kind === 'prompt' && (entry.from === undefined || entry.from.client === self),
  );
  return own?.kind === 'prompt' ? own.text : undefined;
}
