/** Draws numbered options, with a mark at the selected one. */
import { fit, gutter, line, span, wrap, type StyledLine } from '../text/styled-line.ts';
import { cleanLine, graphemes, graphemeWidth, widthOf } from '../text/width.ts';

export interface MenuChoice {
  readonly name: string;
  readonly description?: string | undefined;
}

/** Columns for the mark and the number. */
const MARGIN = 4;

/**
 * Draws the options. If they need more than `maxRows`, shortens each option to one row. If there are still too many
 * rows, draws only the options near the selected one.
 */
export function menuLines(
  choices: readonly MenuChoice[],
  selected: number,
  width: number,
  maxRows: number = Infinity,
): StyledLine[] {
  const inner = width - MARGIN;
  const drawn = (wordsOf: (words: StyledLine) => StyledLine[]) =>
    choices.map(({ name, description }, index) => {
      const here = index === selected;
      const words = [
        span(cleanLine(name), here ? { tone: 'accent', bold: true } : {}),
        ...(description === undefined ? [] : [span(`  ${cleanLine(description)}`, 'dim')]),
      ];
      return gutter(wordsOf(words), marginOf(index, here), line(' '.repeat(MARGIN)));
    });
  const lines = drawn((words) => wrap(words, inner)).flat();
  if (lines.length <= maxRows) return lines;
  const first = Math.max(0, Math.min(selected - maxRows + 1, choices.length - maxRows));
  return drawn((words) => [squeezed(words, inner)])
    .slice(first, first + Math.max(1, maxRows))
    .flat();
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
