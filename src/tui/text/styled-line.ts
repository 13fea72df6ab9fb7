/**
 * Lines before they have colours: pieces of text with what they mean. A theme turns them into what a terminal
 * understands (theme.ts); here they are measured, wrapped and cut.
 */
import { graphemes, graphemeWidth, widthOf } from './width.ts';

/** What a piece of text is, for the theme to give it a colour. */
export type Tone =
  | 'dim'
  | 'faint'
  | 'accent'
  | 'person'
  | 'other'
  | 'good'
  | 'warning'
  | 'bad'
  | 'added'
  | 'removed'
  | 'heading'
  | 'code'
  | 'link'
  | 'keyword'
  | 'string'
  | 'number'
  | 'comment'
  | 'type'
  | 'call';

export interface Look {
  readonly tone?: Tone;
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly strike?: boolean;
}

export interface StyledText extends Look {
  readonly text: string;
}

export type StyledLine = readonly StyledText[];

export const EMPTY: StyledLine = [];

export function span(text: string, look: Tone | Look = {}): StyledText {
  return typeof look === 'string' ? { text, tone: look } : { ...look, text };
}

/** One piece; of one look. */
export function line(text: string, look: Tone | Look = {}): StyledLine {
  return text === '' ? EMPTY : [span(text, look)];
}

export function textOfLine(pieces: StyledLine): string {
  return pieces.map(({ text }) => text).join('');
}

export function lineWidth(pieces: StyledLine): number {
  return pieces.reduce((width, { text }) => width + widthOf(text), 0);
}

/** Puts `first` before the first line and `rest` before the others, so that a text keeps its gutter. */
export function gutter(
  lines: readonly StyledLine[],
  first: StyledLine,
  rest: StyledLine,
): StyledLine[] {
  return lines.map((each, index) => [...(index === 0 ? first : rest), ...each]);
}

/** At most so wide; what is cut ends in `…`. */
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

/** At most so many lines, with one that says how many more there are. */
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

interface Cell {
  readonly grapheme: string;
  readonly width: number;
  readonly span: StyledText;
}

/** Breaks a line at spaces where there are some, else where it must. Never an empty result. */
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

/** Where the line that begins at `start` ends. */
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
