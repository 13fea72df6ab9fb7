/**
 * The part of the screen that is redrawn: open entries, dialogs, the text field and the status line.
 *
 * The frame is never taller than the terminal, because a taller one would scroll and flicker. All other parts are laid
 * out first, and the open entries get the remaining rows.
 */
import type { LiveClient } from '../../live/client/index.ts';
import { isQuestion, type Entry } from '../state/entry.ts';
import { cut, EMPTY, line, type StyledLine } from '../text/styled-line.ts';
import { asking, lastCall, REWIND_CHOICES, thoughtsOfTurn, type Ui } from './ui.ts';
import { activityLine, queueLines } from './activity-lines.ts';
import { box } from './box.ts';
import { titleOf, wholeCall } from './call-lines.ts';
import { composerLines } from './composer-lines.ts';
import { aboutLines, dialogLines } from './dialog-lines.ts';
import { entryLines } from './entry-lines.ts';
import type { View } from './view.ts';
import { menuLines } from './menu-lines.ts';
import { paneLines, thoughtContent, type Pane } from './pane-lines.ts';
import { statusLine } from './status-lines.ts';

export interface FrameOptions {
  readonly ui: Ui;
  readonly self: LiveClient;
  readonly width: number;
  readonly height: number;
  readonly spinner: string;
  readonly now: number;
  readonly renderers: View['renderers'] | undefined;
  readonly a2aUrl?: string | undefined;
  readonly attachedTo?: string | undefined;
}

export interface ScreenFrame {
  readonly lines: readonly StyledLine[];
  /** The position of the text cursor, or undefined while the text field does not have the focus. */
  readonly cursor: { readonly x: number; readonly y: number } | undefined;
  /** The scroll position of the pane, limited to its content. */
  readonly scroll: number | undefined;
}

const MAX_COMPOSER_ROWS = 8;
/** Minimum number of rows for open entries. If fewer rows remain, the entries are not drawn. */
const MIN_LIVE_ROWS = 3;
const NARROW = 52;

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
  const composer = composerLines(ui.composer, {
    width,
    maxRows: Math.max(1, Math.min(MAX_COMPOSER_ROWS, Math.floor(height / 4))),
    placeholder: placeholderFor(ui, self, width),
  });
  const status = statusLine({ ...options, state, hint: ui.hint });
  const queued = queueLines(state.queued, self.name, width);
  const busy = ui.busySince !== undefined;
  const seconds = Math.max(0, Math.floor((options.now - (ui.busySince ?? options.now)) / 1000));
  const activity = busy
    ? [EMPTY, activityLine(options.spinner, seconds, escCancels(ui, self), width)]
    : [];
  // The 2 is for a blank row and an unused row. A frame as tall as the terminal would scroll.
  const fixed = composer.lines.length + 1 + queued.length + activity.length + 2;
  const room = Math.max(0, height - fixed);
  const { lines: over, scroll } = view ? overlay(ui, view, Math.max(6, room - 1)) : {};
  const rest = room - (over?.length ?? 0);
  // The dialog already shows the call that it asks about.
  const shown = over ? asking(ui)[0] : undefined;
  const open = state.log.open.filter((entry) => entry !== shown);
  const live = view && rest >= MIN_LIVE_ROWS ? liveLines(open, view, rest) : [];
  const space = activity.length + queued.length > 0 ? [] : [EMPTY];
  const all = [...live, ...activity, ...queued, ...space, ...(over ?? [])];
  // In a very small terminal, the topmost lines are dropped.
  const above = all.slice(Math.max(0, all.length + composer.lines.length + 2 - height));
  const talking = over === undefined || (ui.dialog.talking && !ui.pane && !ui.rewind);
  return {
    lines: [...above, ...composer.lines, status],
    cursor: talking
      ? { x: Math.min(composer.column, width - 1), y: above.length + composer.row }
      : undefined,
    scroll,
  };
}

function overlay(ui: Ui, view: View, maxRows: number): Partial<Pane> {
  const { width } = view;
  const inner = { ...view, width: width - 4 };
  if (ui.rewind) {
    const choices = menuLines(REWIND_CHOICES, ui.rewind.selected, width - 4);
    const title = line('Go back', { bold: true });
    return { lines: box(choices, width, { title, keys: '↑↓ Enter · Esc stays', tone: 'accent' }) };
  }
  const waiting = asking(ui);
  const [entry] = waiting;
  if (ui.pane) {
    const pane = { scroll: ui.pane.scroll, width, maxRows };
    const request = entry?.call.confirmation_request;
    if (ui.pane.kind === 'request' && entry && request) {
      return paneLines({
        ...pane,
        title: titleOf(entry.call),
        content: aboutLines(request, inner),
      });
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
  const lines = dialogLines(
    {
      entry,
      selected: ui.dialog.selected,
      talking: ui.dialog.talking,
      position: [1, waiting.length],
      mayAnswer: view.self.roles.includes('approve'),
      maxRows,
    },
    view,
  );
  return { lines };
}

/** Returns the last rows of the open entries. */
function liveLines(open: readonly Entry[], view: View, maxRows: number): StyledLine[] {
  const lines: StyledLine[] = [];
  // Draw the entries from the end, until there is no more room.
  for (let at = open.length - 1; at >= 0 && lines.length < maxRows; at--) {
    const entry = open[at]!;
    const drawn = entryLines(entry, view);
    if (drawn.length > 0) lines.unshift(...(entry.gap ? [EMPTY] : []), ...drawn);
  }
  return cut(lines, maxRows, 'last');
}

/** Whether Esc cancels the turn. It does if nothing else is open and the client may send prompts. */
function escCancels(ui: Ui, { roles }: LiveClient): boolean {
  const answers = asking(ui).length > 0 && roles.includes('approve') && !ui.dialog.talking;
  return roles.includes('prompt') && !answers && !ui.pane && !ui.rewind;
}

function placeholderFor(ui: Ui, self: LiveClient, width: number): string {
  const { state, dialog } = ui;
  const [entry] = asking(ui);
  if (!self.roles.includes('prompt')) return 'This client can only watch';
  if (entry && dialog.talking) return isQuestion(entry) ? 'Your answer' : 'Type a reason to reject';
  if (state.turn === 'working') return 'Type the next request';
  return width < NARROW ? 'Ask for something' : 'Ask for something, / for commands, @ for files';
}
