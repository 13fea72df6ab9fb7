/** Draws a link, and below it the link as a QR code if the terminal is large enough. */
import { line, span, type NoticeEntry, type StyledLine } from '../../display/index.ts';
import { wrap } from '../text/styled-line.ts';
import type { View } from './view.ts';

type ShownLink = NonNullable<NoticeEntry['link']>;

/** The width of the light border around the code, in modules. Scanners need at least two, and four is the standard. */
const BORDERS = [4, 3, 2];
/**
 * Rows of the screen that the code leaves free: for the text above it, the text field and the status line, or in a
 * small terminal only for the latter two.
 */
const FREE_ROWS = [10, 5];

/** Returns the link, from the first column on, so that it can be copied, and its code. */
export function linkLines({ url, code }: ShownLink, view: View): StyledLine[] {
  const { width, height = 0, plain } = view;
  const link = wrap(line(url, 'link'), width);
  if (plain) return link;
  const fits = (border: number, free: number) => {
    const size = code.length + 2 * border;
    return size <= width && Math.ceil(size / 2) + free <= height;
  };
  const [border] = FREE_ROWS.flatMap((free) => BORDERS.filter((each) => fits(each, free)));
  return border === undefined ? link : [...link, ...codeLines(code, border)];
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
