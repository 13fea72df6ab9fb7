/** Draws numbered options, with a mark at the selected option. */
import { fit, gutter, wrap } from '../text/styled-line.ts';
import { line, span, type StyledLine, revealsLine } from '../../display/index.ts';
import { graphemes, graphemeWidth, widthOf } from '../text/width.ts';

export interface MenuChoice {
  readonly name: string;
  readonly description?: string | undefined;
}

/** Columns for the mark and the number. */
const MARGIN = 4;

export interface MenuRoom {
  readonly maxRows?: number | undefined;
  /** The index of an option that is always drawn if there is room for two options. Default: -1 (no such option). */
  readonly pinned?: number;
}

/**
 * Draws the options. If they need more than `maxRows`, shortens them to one row each. Only the selected option is still
 * drawn in full if it fits, because a person must see what Enter chooses. If there are still too many rows, draws only
 * the options near the selected one, and the pinned option.
 */
export function menuLines(
  choices: readonly MenuChoice[],
  selected: number,
  width: number,
  { maxRows = Infinity, pinned = -1 }: MenuRoom = {},
): StyledLine[] {
  const inner = width - MARGIN;
  const drawn = (index: number, wordsOf: (words: StyledLine) => StyledLine[]): StyledLine[] => {
    const { name, description } = choices[index] ?? { name: '' };
    const here = index === selected;
    const words = [
      span(revealsLine(name), here ? { tone: 'accent', bold: true } : {}),
      ...(description === undefined ? [] : [span(`  ${revealsLine(description)}`, 'dim')]),
    ];
    return gutter(wordsOf(words), marginOf(index, here), line(' '.repeat(MARGIN)));
  };
  const lines = choices.flatMap((_, index) => drawn(index, (words) => wrap(words, inner)));
  if (lines.length <= maxRows) return lines;
  const full = selected < 0 ? [] : drawn(selected, (words) => wrap(words, inner));
  // The selected option is drawn in full only if this leaves a row for the pinned option.
  const isFull = full.length > 1 && full.length < maxRows;
  const room = Math.max(1, isFull ? maxRows - full.length + 1 : maxRows);
  return visibleChoices(choices.length, selected, room, pinned).flatMap((index) =>
    isFull && index === selected ? full : drawn(index, (words) => [squeezed(words, inner)]),
  );
}

/** Returns the indexes of the options that are drawn in `room` rows. */
function visibleChoices(count: number, selected: number, room: number, pinned: number): number[] {
  const window = (rows: number): number[] => {
    const first = Math.max(0, Math.min(selected - rows + 1, count - rows));
    return Array.from({ length: Math.min(rows, count) }, (_, at) => first + at);
  };
  const near = window(room);
  if (pinned < 0 || room < 2 || near.includes(pinned)) return near;
  return [...window(room - 1), pinned].toSorted((a, b) => a - b);
}

function marginOf(index: number, here: boolean): StyledLine {
  const number = index < 9 ? `${index + 1}` : ' ';
  return [span(here ? '❯ ' : '  ', 'accent'), span(`${number} `, 'dim')];
}

/** Shortens an option to one row. Removes the middle of its name, because names often differ only at the end. */
function squeezed([name = span(''), ...rest]: StyledLine, width: number): StyledLine {
  const over = widthOf(name.text) > width;
  return fit([over ? { ...name, text: bothEnds(name.text, width) } : name, ...rest], width);
}

function bothEnds(text: string, width: number): string {
  const all = graphemes(text);
  const tail = Math.floor((width - 1) / 2);
  const end = take(all.toReversed(), tail).toReversed();
  const start = take(all, width - 1 - tail);
  return `${start.join('').trimEnd()}…${end.join('').trimStart()}`;
}

function take(all: readonly string[], width: number): string[] {
  let left = width;
  const past = all.findIndex((each) => (left -= graphemeWidth(each)) < 0);
  return past < 0 ? [...all] : all.slice(0, past);
}
