/** The state of the screen, and queries on it. */
import type { Composer } from '../input/composer.ts';
import type { CallEntry, ThoughtEntry } from '../state/entry.ts';
import { waitingCalls, type SessionState } from '../state/state.ts';

export interface Ui {
  readonly state: SessionState;
  readonly composer: Composer;
  /** The dialog of the call `callId`: its selected option, and whether the text field has the focus. */
  readonly dialog: {
    readonly callId: string;
    readonly selected: number;
    readonly talking: boolean;
  };
  /** Ids of the calls that were answered in this terminal and whose answers the session has not confirmed yet. */
  readonly answering: ReadonlySet<string>;
  readonly pane:
    | { readonly kind: 'thoughts' | 'call' | 'request'; readonly scroll: number }
    | undefined;
  /** Set while the rewind menu is open. */
  readonly rewind: { readonly selected: number } | undefined;
  readonly hint: string | undefined;
  /** The time when the running turn started, or undefined if no turn is running. */
  readonly busySince: number | undefined;
}

export const REWIND_CHOICES = [
  { name: 'Edit the last prompt', description: 'and send it again' },
  { name: 'Go back to a checkpoint', description: 'with /restore, which also restores the files' },
  { name: 'Stay here', description: undefined },
] as const;

/** Returns the calls that wait for an answer, the oldest first. The dialog shows the first one. */
export function asking({ state, answering }: Ui): CallEntry[] {
  return waitingCalls(state).filter(({ call }) => !answering.has(call.tool_call_id));
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

/** Returns the last prompt of the person at this terminal. */
export function lastPrompt({ state }: Ui, self: string): string | undefined {
  const entries = [...state.log.finished, ...state.log.open];
  const own = entries.findLast(
    (entry) => entry.kind === 'prompt' && (entry.from === undefined || entry.from.client === self),
  );
  return own?.kind === 'prompt' ? own.text : undefined;
}
