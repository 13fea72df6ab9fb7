/** Draws a link, and above it the link as a QR code if the terminal is large enough. */
import { line, span, type NoticeEntry, type StyledLine } from '../../display/index.ts';
import { wrap } from '../text/styled-line.ts';
import type { View } from './view.ts';

type ShownLink = NonNullable<NoticeEntry['link']>;

/** The width of the light border around the code, in modules. Scanners need at least two, and four is the standard. */
const BORDERS = [4, 3, 2];
/** Rows of the screen for the text field and the status line, with a blank line before and after them. */
const INPUT_ROWS = 6;
/**
 * Rows that the code leaves free in a small terminal. There, the text below the code moves the top of the code out of
 * the screen, and the person scrolls up to scan it.
 */
const FEW_ROWS = 5;

/**
 * Returns the code, the text about the link, and the link, from the first column on, so that it can be copied. The code
 * comes first, because it can fill the screen, and the text has warnings that must be seen.
 */
export function linkLines(
  { url, code }: ShownLink,
  text: readonly StyledLine[],
  view: View,
): StyledLine[] {
  const { width, height = 0, plain } = view;
  const below = [...text, ...wrap(line(url, 'link'), width)];
  if (plain) return below;
  const fits = (border: number, free: number) => {
    const size = code.length + 2 * border;
    return size <= width && Math.ceil(size / 2) + free <= height;
  };
  const border =
    BORDERS.find((each) => fits(each, below.length + INPUT_ROWS)) ??
    BORDERS.findLast((each) => fits(each, FEW_ROWS));
  return border === undefined ? below : [...codeLines(code, border), ...below];
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
