/** Draws a link, and the link as a QR code if the terminal is large enough. */
import { EMPTY, line, span, type NoticeEntry, type StyledLine } from '../../display/index.ts';
import { wrap } from '../text/styled-line.ts';
import type { View } from './view.ts';

type ShownLink = NonNullable<NoticeEntry['link']>;

/** The width of the light border around the code, in modules. Scanners need at least two, and four is the standard. */
const BORDERS = [4, 3, 2];
/** Rows of the screen for the text field and the status line, with a blank line before and after them. */
const INPUT_ROWS = 6;
/** Columns between the code and the text beside it. */
const GAP = 2;
/** Minimum width of the text beside the code. */
const MIN_BESIDE = 20;
/**
 * Minimum number of rows that the code leaves free in a small terminal. In such a terminal, the code and the text below
 * it do not fit on the screen together. The top of the code scrolls off the screen, and the person scrolls up to scan
 * the code.
 */
const FEW_ROWS = 5;

/**
 * Returns the code, the text about the link, and the link. The link starts in the first column, so that it can be
 * copied. The text is below the code or, on a low and wide screen, beside it. If the code does not fit on the screen,
 * it is left out.
 */
export function linkLines(
  { url, code }: ShownLink,
  textAt: (width: number) => readonly StyledLine[],
  view: View,
): StyledLine[] {
  const { width, height = 0, plain } = view;
  const link = wrap(line(url, 'link'), width);
  const below = [...textAt(width), ...link];
  if (plain) return below;
  const widthOf = (border: number) => code.length + 2 * border;
  const rowsOf = (border: number) => Math.ceil(widthOf(border) / 2);
  const textBeside = (border: number, above: readonly StyledLine[] = []) => {
    const left = width - widthOf(border) - GAP;
    const lines = left < MIN_BESIDE ? undefined : [...above, ...textAt(left)];
    return lines && lines.length <= rowsOf(border) ? lines : undefined;
  };
  const fits = (border: number, free: number) =>
    widthOf(border) <= width && rowsOf(border) + free <= height;

  let border = BORDERS.find((each) => fits(each, below.length + INPUT_ROWS));
  if (border !== undefined) return [...codeLines(code, border), ...below];
  border = BORDERS.find((each) => textBeside(each) && fits(each, link.length + INPUT_ROWS));
  if (border !== undefined) {
    return [...joined(codeLines(code, border), textBeside(border) ?? []), ...link];
  }
  // The link and the border above the code may leave the screen, but the code and the text must not. So the text begins
  // below the border.
  border = BORDERS.findLast((each) => textBeside(each, [EMPTY]) && fits(each, INPUT_ROWS - 1));
  if (border !== undefined) {
    return [...link, ...joined(codeLines(code, border), textBeside(border, [EMPTY]) ?? [])];
  }
  border = BORDERS.findLast((each) => fits(each, FEW_ROWS));
  return border === undefined ? below : [...codeLines(code, border), ...below];
}

/** Puts each line of the text after a line of the code. */
function joined(code: readonly StyledLine[], text: readonly StyledLine[]): StyledLine[] {
  return code.map((row, index) => {
    const words = text[index];
    return words ? [...row, span(' '.repeat(GAP)), ...words] : row;
  });
}

/** Draws two rows of modules in each line, with half blocks. The dark modules have the colour of the text. */
function codeLines(code: ShownLink['code'], border: number): StyledLine[] {
  const size = code.length + 2 * border;
  const isDark = (row: number, column: number) => code[row - border]?.[column - border] === true;
  return Array.from({ length: Math.ceil(size / 2) }, (_, index) => {
    const blocks = Array.from({ length: size }, (_unused, column) => {
      const [top, bottom] = [isDark(2 * index, column), isDark(2 * index + 1, column)];
      return top ? (bottom ? '█' : '▀') : bottom ? '▄' : ' ';
    });
    return [span(blocks.join(''), { paper: true })];
  });
}
