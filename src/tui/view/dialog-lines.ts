/** Draws the dialog of a confirmation request. It shows the effect of the call, and the options. */
import { OPTION, requestId } from '../../protocol/schema-free/index.ts';
import {
  isQuestion,
  type CallEntry,
  EMPTY,
  line,
  span,
  titleOfRequest,
  type StyledLine,
} from '../../display/index.ts';
import { lineWidth, wrap } from '../text/styled-line.ts';
import { widthOf } from '../text/width.ts';
import { box, titleRoom } from './box.ts';
import { menuLines } from './menu-lines.ts';
import { fittedRequest, requestLines, type FittedRequest } from './request-lines.ts';
import type { DialogFocus } from './ui.ts';
import { type View, helperSpans } from './view.ts';

export interface DialogView {
  readonly entry: CallEntry;
  /** The option that the person has moved to, or undefined before they have moved. */
  readonly selected: number | undefined;
  readonly focus: DialogFocus;
  /** The number of this call, from 1, and the number of waiting calls. */
  readonly position: readonly [number, number];
  readonly mayAnswer: boolean;
  readonly maxRows: number;
}

/** The request that is on the screen, and the option that Enter chooses there. */
export interface DrawnDialog {
  readonly request: string;
  /** The index of the option, or -1 if Enter chooses no option. */
  readonly selected: number;
}

const EDGES = 2;
/** Minimum number of rows of a dialog: the edges, two rows of the request, and two options. */
const MIN_ROWS = EDGES + 4;
/** If the request is shortened, there is a blank row before the options only in a dialog with this many inner rows. */
const ROOMY = 12;

/** Returns the lines, and the drawn dialog, which is undefined if the dialog is too small to show the request. */
export function dialogLines(dialog: DialogView, view: View) {
  const { entry, focus, mayAnswer, maxRows } = dialog;
  const { call } = entry;
  const width = view.width - 4;
  const inner = { ...view, width };
  const { options = [] } = call.confirmation_request ?? {};
  if (maxRows < MIN_ROWS) {
    const text = 'A question is waiting. Make the terminal larger to see it.';
    const lines = wrap(line(text, 'warning'), view.width).slice(0, Math.max(1, maxRows));
    return { lines, drawn: undefined };
  }
  const reject = options.findIndex(({ id }) => id === OPTION.cancel);
  const rows = maxRows - EDGES;
  const watching = [line('This client can only watch. Another client has to answer.', 'dim')];
  const menu = (selected = -1, room = Infinity): StyledLine[] =>
    mayAnswer ? menuLines(options, selected, width, { maxRows: room, pinned: reject }) : watching;

  const title = titleLine(entry);
  const note = noteLine(dialog, view);
  const hasTitle = lineWidth(title) <= titleRoom(view.width, note);
  const { optionRoom, blank, about } = layout(
    rows,
    menu().length,
    mayAnswer ? options.length : 1,
    (room) => fittedRequest(call, inner, room, hasTitle),
  );
  // An option that allows the call is preselected only if the whole call is on the screen.
  const selected = dialog.selected ?? (about.whole ? 0 : reject);
  const choices = menu(focus === 'options' ? selected : -1, optionRoom);
  // While the dialog is opening, no option can be chosen. So `…` and blank rows take the place of the options.
  const opening = [line('…', 'dim'), ...choices.slice(1).map(() => EMPTY)];
  const shown = focus === 'opening' && mayAnswer ? opening : choices;
  return {
    lines: box([...about.lines, ...(blank > 0 ? [EMPTY] : []), ...shown], view.width, {
      title,
      note,
      keys: mayAnswer ? keysFor(dialog, shown.length < options.length, width - 2) : '',
      tone: focus === 'answer' ? 'faint' : 'warning',
    }),
    drawn: { request: requestId(call), selected },
  };
}

/**
 * Divides the rows between the request and the options. Tries to show the whole request, first with the options in
 * full, then with at most one row for each option, then without the blank row. `fitted` returns the request in the
 * given number of rows. Returns the rows of the options, the number of blank rows before them, and the request.
 */
function layout(
  rows: number,
  allOptions: number,
  count: number,
  fitted: (room: number) => FittedRequest,
) {
  const needed = fitted(Infinity).lines.length;
  const half = Math.max(2, Math.floor(rows / 2));
  const short = Math.min(count, Math.max(half, rows - needed));
  const ways = [[Math.max(1, allOptions), 1] as const, [short, 1] as const, [short, 0] as const];
  const tried = ways.map(([optionRoom, blank]) => {
    const room = rows - optionRoom - blank;
    return { optionRoom, blank, about: fitted(Math.max(0, room)), fits: room >= 2 };
  });
  const whole = tried.find(({ about, fits }) => fits && about.whole);
  return whole ?? tried[rows >= ROOMY ? 1 : 2]!;
}

function titleLine(entry: CallEntry): StyledLine {
  return [...helperSpans(entry.call), span(titleOfRequest(entry), { bold: true })];
}

function noteLine({ entry, position: [at, of] }: DialogView, view: View): StyledLine {
  const { summary } = requestLines(entry.call, { ...view, width: view.width - 4 });
  const place = of > 1 ? line(`${at} of ${of}`, 'dim') : [];
  const space = summary.length > 0 && place.length > 0 ? [span('  ')] : [];
  return [...summary, ...space, ...place];
}

/** Returns the key hints. Leaves out hints that do not fit. */
function keysFor({ entry, focus }: DialogView, moreOptions: boolean, room: number): string {
  const question = isQuestion(entry);
  if (focus === 'opening') return '';
  if (focus === 'draft') return 'Tab or ↑ ↓ to answer';
  if (focus === 'answer') {
    return `Enter ${question ? 'sends the answer' : 'rejects with this reason'} · Tab returns`;
  }
  return [
    moreOptions ? '↑↓ more options · Enter' : '↑↓ Enter',
    question ? 'Esc declines' : 'Esc rejects',
    question ? 'Tab types an answer' : 'Tab gives a reason',
  ].reduce((hints, hint) => {
    const longer = `${hints} · ${hint}`;
    return widthOf(longer) <= room ? longer : hints;
  });
}
