/**
 * The part of the screen that is redrawn: open entries, dialogs, the text field and the status line.
 *
 * The frame is not taller than the terminal, unless the terminal has only a few rows. A taller frame would scroll and
 * flicker. All other parts are laid out first, and the open entries get the remaining rows.
 */
import type { LiveClient } from '../../live/client/index.ts';
import {
  titleOf,
  isQuestion,
  type Entry,
  EMPTY,
  line,
  type StyledLine,
} from '../../display/index.ts';
import { cut } from '../text/styled-line.ts';
import { asking, lastCall, rewindChoices, thoughtsOfTurn, type Ui } from './ui.ts';
import { activityLines, queueLines, statusLine } from './status-lines.ts';
import { box, paneLines, thoughtContent, type Pane } from './box.ts';
import { wholeCall, entryLines } from './entry-lines.ts';
import { composerLines } from './composer-lines.ts';
import { dialogLines, type DrawnDialog } from './dialog-lines.ts';
import type { View } from './view.ts';
import { menuLines } from './menu-lines.ts';
import { pickerLines } from './picker-lines.ts';
import { wholeRequest } from './request-lines.ts';

export interface FrameOptions {
  readonly ui: Ui;
  readonly self: LiveClient;
  readonly width: number;
  readonly height: number;
  readonly spinner: string;
  readonly now: number;
  readonly renderers: View['renderers'] | undefined;
  readonly a2aPort?: number | undefined;
  readonly attachedTo?: string | undefined;
}

export interface ScreenFrame {
  readonly lines: readonly StyledLine[];
  /** The position of the text cursor, or undefined while the text field does not have the focus. */
  readonly cursor: { readonly x: number; readonly y: number } | undefined;
  /** The scroll position of the pane, limited to its content. */
  readonly scroll: number | undefined;
  /** The dialog, if the frame shows all of it. */
  readonly dialog: DrawnDialog | undefined;
}

const MAX_COMPOSER_ROWS = 8;
/** Minimum number of rows for open entries. If fewer rows remain, the entries are not drawn. */
const MIN_LIVE_ROWS = 3;
const NARROW = 52;
/**
 * If the terminal has fewer rows than this, an open dialog or overlay gets more room: the running turn is not drawn,
 * and the queue gets only one row.
 */
const LOW = 24;

export function frame(options: FrameOptions): ScreenFrame {
  const { ui, self, width, height, renderers } = options;
  const { state } = ui;
  const view: View | undefined = renderers && {
    width,
    renderers,
    self,
    clients: state.clients,
    plain: false,
    spinner: options.spinner,
  };
  const isOpen = view !== undefined && (isCovered(ui) || asking(ui).length > 0);
  const crowded = isOpen && height < LOW;
  const composer = composerLines(ui.composer, {
    width,
    maxRows: Math.max(1, Math.min(MAX_COMPOSER_ROWS, Math.floor(height / (crowded ? 8 : 4)))),
    placeholder: placeholderFor(ui, self, width),
  });
  const status = statusLine({ ...options, state, mode: ui.mode, hint: ui.hint });
  const queue = queueLines(state.queued, self.name, width);
  const queued = crowded ? queue.slice(-1) : queue;
  const activity = activityLines(ui, { ...options, crowded, cancels: escCancels(ui, self) });
  // One row stays unused, because a frame as tall as the terminal would scroll.
  const fixed = composer.lines.length + 1 + queued.length + activity.length + 1;
  const space = activity.length + queued.length > 0 || crowded ? [] : [EMPTY];
  const room = Math.max(0, height - fixed - space.length);
  const { lines: over, scroll, drawn } = view ? overlay(ui, view, room) : {};
  const rest = room - (over?.length ?? 0);
  // The dialog already shows the call that it asks about, so the open entries are drawn without this call.
  const shown = over ? asking(ui)[0] : undefined;
  const open = state.log.open.filter((entry) => entry !== shown);
  const live = view && rest >= MIN_LIVE_ROWS ? liveLines(open, view, rest) : [];
  const all = [...live, ...activity, ...queued, ...space, ...(over ?? [])];
  // In a very small terminal, the topmost lines are dropped.
  const dropped = Math.max(0, all.length + composer.lines.length + 2 - height);
  const above = all.slice(dropped);
  const talking = over === undefined || (writes(ui) && !isCovered(ui));
  return {
    lines: [...above, ...composer.lines, status],
    cursor: talking
      ? { x: Math.min(composer.column, width - 1), y: above.length + composer.row }
      : undefined,
    scroll,
    dialog: dropped <= all.length - (over?.length ?? 0) ? drawn : undefined,
  };
}

/** Returns whether an overlay takes the keys. */
function isCovered({ pane, rewind, picker }: Ui): boolean {
  return pane !== undefined || rewind !== undefined || picker !== undefined;
}

/** Returns whether the keys go to the text field while a dialog is open. */
function writes({ dialog }: Ui): boolean {
  return dialog.focus === 'draft' || dialog.focus === 'answer';
}

interface Overlay extends Partial<Pane> {
  readonly drawn?: DrawnDialog | undefined;
}

function overlay(ui: Ui, view: View, maxRows: number): Overlay {
  const { width } = view;
  const inner = { ...view, width: width - 4 };
  if (ui.rewind) {
    const choices = menuLines(rewindChoices(ui), ui.rewind.selected, width - 4);
    const title = line('Go back', { bold: true });
    return { lines: box(choices, width, { title, keys: '↑↓ Enter · Esc stays', tone: 'accent' }) };
  }
  if (ui.picker) {
    const keys = '↑↓ Enter · type to search · Esc closes';
    return { lines: pickerLines(ui.picker, { width, maxRows, keys, none: 'No checkpoint.' }) };
  }
  const waiting = asking(ui);
  const [entry] = waiting;
  if (ui.pane) {
    const covers = ui.pane.kind !== 'request' && entry !== undefined;
    const pane = { scroll: ui.pane.scroll, width, maxRows, covers };
    if (ui.pane.kind === 'request' && entry) {
      const content = wholeRequest(entry.call, inner);
      return paneLines({ ...pane, title: titleOf(entry.call), content });
    }
    if (ui.pane.kind === 'thoughts') {
      const content = thoughtContent(thoughtsOfTurn(ui), width - 4);
      const none = [line('No thoughts in this turn.', 'dim')];
      return paneLines({
        ...pane,
        title: 'Thoughts',
        content: content.length > 0 ? content : none,
      });
    }
    const call = lastCall(ui);
    const content = call ? wholeCall(call, inner) : [line('No tool calls yet.', 'dim')];
    return paneLines({ ...pane, title: call ? titleOf(call.call) : 'Calls', content });
  }
  if (!entry) return {};
  const mayAnswer = view.self.roles.includes('approve');
  const { selected, focus } = ui.dialog;
  const position = [1, waiting.length] as const;
  return dialogLines({ entry, selected, focus, position, mayAnswer, maxRows }, view);
}

/** Returns the last rows of the open entries. */
function liveLines(open: readonly Entry[], view: View, maxRows: number): StyledLine[] {
  const lines: StyledLine[] = [];
  let left = open.length;
  // The entries are drawn from the end, until there is no more room.
  while (left > 0 && lines.length < maxRows) {
    const entry = open[--left]!;
    const drawn = entryLines(entry, view);
    if (drawn.length > 0) lines.unshift(...(entry.gap ? [EMPTY] : []), ...drawn);
  }
  if (left === 0) return cut(lines, maxRows, 'last');
  // The note contains the number of entries and not of lines, because counting lines would require drawing all entries.
  const note = line(`… ${left} earlier ${left === 1 ? 'entry' : 'entries'}`, 'faint');
  return [note, ...lines.slice(1 - maxRows)];
}

/**
 * Returns whether Esc cancels the turn. Esc cancels the turn if no dialog, overlay or command of the person gets the
 * key, and the client may send prompts.
 */
function escCancels(ui: Ui, { roles }: LiveClient): boolean {
  const answers = asking(ui).length > 0 && roles.includes('approve');
  return roles.includes('prompt') && !answers && !isCovered(ui) && !ui.command;
}

function placeholderFor(ui: Ui, self: LiveClient, width: number): string {
  const { state, dialog } = ui;
  const [entry] = asking(ui);
  if (!self.roles.includes('prompt')) return 'This client can only watch';
  if (entry && dialog.focus === 'answer') {
    return isQuestion(entry) ? 'Your answer' : 'Type a reason to reject';
  }
  if (entry && dialog.focus === 'draft') return 'Type the next request, or Tab to answer';
  if (state.turn === 'working') return 'Type the next request';
  return width < NARROW ? 'Ask for something' : 'Ask for something, / for commands, @ for files';
}
