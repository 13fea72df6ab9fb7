/** Measures, wraps and truncates lines of styled text. A theme (theme.ts) adds the escape sequences. */
import {
  clean,
  EMPTY,
  line,
  span,
  splitLines,
  type Look,
  type StyledLine,
  type StyledText,
  type Tone,
} from '../../display/index.ts';
import { graphemes, graphemeWidth, widthOf } from './width.ts';

export function lineWidth(pieces: StyledLine): number {
  return pieces.reduce((width, { text }) => width + widthOf(text), 0);
}

/** Prefixes the first line with `first` and all other lines with `rest`. */
export function gutter(
  lines: readonly StyledLine[],
  first: StyledLine,
  rest: StyledLine,
): StyledLine[] {
  return lines.map((each, index) => [...(index === 0 ? first : rest), ...each]);
}

/** Returns the line. If it is wider than `width`, truncates it, with `…` at its end. */
export function fit(pieces: StyledLine, width: number): StyledLine {
  if (lineWidth(pieces) <= width) return pieces;
  if (width <= 0) return EMPTY;
  const out: StyledText[] = [];
  let left = width - 1;
  for (const piece of pieces) {
    let text = '';
    for (const grapheme of graphemes(piece.text)) {
      const takes = graphemeWidth(grapheme);
      if (takes > left) return [...out, { ...piece, text: `${text}…` }];
      left -= takes;
      text += grapheme;
    }
    out.push(piece);
  }
  return out;
}

/** Limits the number of lines. A note replaces the removed lines and shows their number. */
export function cut(
  lines: readonly StyledLine[],
  max: number,
  keep: 'first' | 'last' = 'first',
): StyledLine[] {
  if (lines.length <= max) return [...lines];
  if (max <= 0) return [];
  const shown = max - 1;
  const more = lines.length - shown;
  const note = line(`… ${more} more ${more === 1 ? 'line' : 'lines'}`, 'faint');
  if (keep === 'first') return [...lines.slice(0, shown), note];
  return [note, ...(shown === 0 ? [] : lines.slice(-shown))];
}

/**
 * Limits the number of lines to `max`, or to 2 if `max` is smaller. Replaces the lines in the middle with a note that
 * contains their number. If the limit is 2, the result is the note and the last line.
 */
export function bothEnds(lines: readonly StyledLine[], max: number, hint = ''): StyledLine[] {
  if (lines.length <= max) return [...lines];
  const kept = Math.max(1, max - 1);
  const head = Math.floor(kept / 2);
  const hidden = lines.length - kept;
  const note = `… ${hidden} ${hidden === 1 ? 'line' : 'lines'} hidden${hint}`;
  return [...lines.slice(0, head), line(note, 'warning'), ...lines.slice(head + hidden)];
}

/** Cleans untrusted text and wraps each of its lines. */
export function wrapText(text: string, width: number, look: Tone | Look = {}): StyledLine[] {
  return splitLines([span(clean(text), look)]).flatMap((each) => wrap(each, width));
}

interface Cell {
  readonly grapheme: string;
  readonly width: number;
  readonly span: StyledText;
}

/** Wraps a line at spaces, or inside a word that is too long. Returns at least one line. */
export function wrap(pieces: StyledLine, width: number): StyledLine[] {
  const room = Math.max(1, width);
  if (lineWidth(pieces) <= room) return [pieces];
  const cells = pieces.flatMap((each) =>
    graphemes(each.text).map((grapheme): Cell => ({
      grapheme,
      width: graphemeWidth(grapheme),
      span: each,
    })),
  );
  const lines: StyledLine[] = [];
  let start = 0;
  while (start < cells.length) {
    const end = breakAt(cells, start, room);
    let last = end;
    while (last > start && cells[last - 1]?.grapheme === ' ') last--;
    lines.push(joined(cells.slice(start, last)));
    start = end;
    while (lines.length > 0 && cells[start]?.grapheme === ' ') start++;
  }
  return lines.length > 0 ? lines : [EMPTY];
}

/** Returns the end of the row that starts at `start`. */
function breakAt(cells: readonly Cell[], start: number, room: number): number {
  let width = 0;
  let space = -1;
  for (let at = start; at < cells.length; at++) {
    const { grapheme, width: takes } = cells[at]!;
    if (width + takes > room) {
      if (grapheme === ' ') return at;
      return space > start ? space : Math.max(at, start + 1);
    }
    width += takes;
    if (grapheme === ' ') space = at + 1;
  }
  return cells.length;
}

function joined(cells: readonly Cell[]): StyledLine {
  const out: StyledText[] = [];
  let text = '';
  for (const [at, cell] of cells.entries()) {
    text += cell.grapheme;
    if (cells[at + 1]?.span !== cell.span) {
      out.push({ ...cell.span, text });
      text = '';
    }
  }
  return out;
}
