/**
 * Draws lines in a box, with a title in its top edge and key hints in its bottom edge. The pane is such a box above the
 * text field. It scrolls, and shows complete thoughts, the complete output of a call, or a complete request.
 */
import {
  EMPTY,
  line,
  span,
  type StyledLine,
  type Tone,
  type ThoughtEntry,
  clean,
} from '../../display/index.ts';
import { fit, lineWidth, wrap, wrapText } from '../text/styled-line.ts';
import { helperSpans } from './view.ts';

export interface BoxFrame {
  readonly title: StyledLine;
  /** A text at the right of the top edge. */
  readonly note?: StyledLine;
  readonly keys: string;
  readonly tone: Tone;
}

/** The columns that a note needs besides its text: a space before it, and a space and one `─` after it. */
const NOTE_EDGES = 3;

export function box(lines: readonly StyledLine[], width: number, frame: BoxFrame): StyledLine[] {
  const inner = width - 4;
  const { tone, note = EMPTY, keys } = frame;
  const side = span('│', tone);
  return [
    edge('╭', frame.title, note, '╮', width, tone),
    ...lines.map((each): StyledLine => {
      const text = fit(each, inner);
      return [side, span(' '), ...text, span(' '.repeat(inner - lineWidth(text) + 1)), side];
    }),
    edge('╰', line(keys, 'dim'), [], '╯', width, tone),
  ];
}

/** Returns the maximum width of the title in a box of this width. A longer title is truncated. */
export function titleRoom(width: number, note: StyledLine): number {
  const right = note.length > 0 ? lineWidth(note) + NOTE_EDGES : 0;
  return Math.max(0, width - 6 - right);
}

function edge(
  start: string,
  text: StyledLine,
  note: StyledLine,
  end: string,
  width: number,
  tone: Tone,
): StyledLine {
  const right: StyledLine = note.length > 0 ? [span(' '), ...note, span(' ─', tone)] : [];
  const shown = fit(text, titleRoom(width, note));
  const left: StyledLine = shown.length > 0 ? [span(' '), ...shown, span(' ')] : [];
  const rule = '─'.repeat(Math.max(0, width - 3 - lineWidth(left) - lineWidth(right)));
  return [span(`${start}─`, tone), ...left, span(rule, tone), ...right, span(end, tone)];
}

export interface PaneView {
  readonly title: string;
  readonly content: readonly StyledLine[];
  /** The number of rows above the visible part. */
  readonly scroll: number;
  readonly width: number;
  readonly maxRows: number;
  /** Whether the pane covers a dialog that waits for an answer. */
  readonly covers?: boolean;
}

export interface Pane {
  readonly lines: readonly StyledLine[];
  /** The scroll position, limited to the content. */
  readonly scroll: number;
}

export function paneLines({ title, content, scroll, width, maxRows, covers }: PaneView): Pane {
  const room = Math.max(1, maxRows - 2);
  const first = Math.max(0, Math.min(scroll, content.length - room));
  const shown = content.slice(first, first + room);
  const note = `${first + 1}–${first + shown.length} of ${content.length}`;
  const lines = box(shown, width, {
    title: line(title, { bold: true }),
    ...(content.length > room && { note: line(note, 'dim') }),
    keys: [
      ...(covers === true ? ['A question is waiting'] : []),
      ...(content.length > room ? ['↑↓ PgUp PgDn Home End'] : []),
      'Esc closes',
    ].join(' · '),
    tone: covers === true ? 'warning' : 'accent',
  });
  return { lines, scroll: first };
}

export function thoughtContent(thoughts: readonly ThoughtEntry[], width: number): StyledLine[] {
  return thoughts.flatMap(({ thought }, index) => [
    ...(index > 0 ? [EMPTY] : []),
    ...wrap(
      [...helperSpans(thought), span(clean(thought.subject), { tone: 'accent', bold: true })],
      width,
    ),
    ...wrapText(thought.description, width),
  ]);
}
