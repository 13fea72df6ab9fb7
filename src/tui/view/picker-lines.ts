/** Draws a list to choose from (sessions to resume, or checkpoints), and below it a preview of the selected item. */
import { matching, selectedItem, type Picker } from '../input/picker.ts';
import { cut, fit, lineWidth } from '../text/styled-line.ts';
import { EMPTY, line, span, type StyledLine, cleanLine } from '../../display/index.ts';
import { box } from './box.ts';

export interface PickerRoom {
  readonly width: number;
  readonly maxRows: number;
  readonly keys: string;
  /** The text for an empty list. */
  readonly none: string;
}

/** Number of rows of the two edges and the search. */
const FIXED = 3;
/** Minimum number of rows of a preview, including the rule above it. */
const MIN_PREVIEW = 4;
const MIN_LIST = 3;

export function pickerLines(
  picker: Picker,
  { width, maxRows, keys, none }: PickerRoom,
): StyledLine[] {
  const found = matching(picker);
  const inner = width - 4;
  const room = Math.max(1, maxRows - FIXED);
  // The list gets at most half of the rows, but at least MIN_LIST, so that there is room for the preview.
  const listed = Math.min(
    Math.max(1, found.length),
    Math.max(MIN_LIST, Math.floor(room / 2)),
    room,
  );
  const rows = listLines(picker, inner, listed);
  const list = rows.length > 0 ? rows : [line(none, 'dim')];
  const left = room - list.length;
  const search: StyledLine = [span('search: ', 'dim'), span(cleanLine(picker.query), 'accent')];
  const about = left >= MIN_PREVIEW ? previewLines(picker, inner, left) : [];
  return box([search, ...list, ...about], width, {
    title: line(picker.title, { bold: true }),
    note: line(`${found.length}`, 'dim'),
    keys,
    tone: 'accent',
  });
}

function listLines(picker: Picker, inner: number, room: number): StyledLine[] {
  const found = matching(picker);
  const first = Math.max(0, Math.min(picker.selected - room + 1, found.length - room));
  return found.slice(first, first + room).map((item, index): StyledLine => {
    const here = first + index === picker.selected;
    const when = span(`  ${cleanLine(item.when)}`, 'dim');
    const title = fit(
      [
        span(here ? '❯ ' : '  ', 'accent'),
        span(cleanLine(item.title), here ? { tone: 'accent', bold: true } : {}),
      ],
      inner - lineWidth([when]),
    );
    const space = Math.max(0, inner - lineWidth(title) - lineWidth([when]));
    return title.concat(span(' '.repeat(space)), when);
  });
}

/**
 * Draws the preview. Its height does not depend on the selected item, so that the screen does not move with the
 * selection.
 */
function previewLines(picker: Picker, inner: number, room: number): StyledLine[] {
  const item = selectedItem(picker);
  const known = picker.preview && picker.preview.id === item?.id ? picker.preview.lines : undefined;
  const all = item ? (known ?? [line('…', 'dim')]) : [];
  const shown = cut(all, room - 1);
  while (shown.length < room - 1) shown.push(EMPTY);
  return [line('─'.repeat(inner), 'faint'), ...shown.map((each) => fit(each, inner))];
}
