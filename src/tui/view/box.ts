/** Draws lines in a box, with a title in its top edge and key hints in its bottom edge. */
import { EMPTY, line, span, type StyledLine, type Tone } from '../../display/index.ts';
import { fit, lineWidth } from '../text/styled-line.ts';

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
