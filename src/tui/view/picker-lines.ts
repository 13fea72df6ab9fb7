/** Draws the list of sessions to resume. */
import { matching, type Picker } from '../input/picker.ts';
import { fit, lineWidth } from '../text/styled-line.ts';
import { line, span, type StyledLine, cleanLine } from '../../display/index.ts';
import { box } from './box.ts';

export function pickerLines(picker: Picker, width: number, height: number): StyledLine[] {
  const found = matching(picker);
  const inner = width - 4;
  const room = Math.max(1, Math.min(found.length, height - 6));
  const first = Math.max(0, Math.min(picker.selected - room + 1, found.length - room));
  const rows = found.slice(first, first + room).map((item, index): StyledLine => {
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
  const search: StyledLine = [span('search: ', 'dim'), span(picker.query, 'accent')];
  const none = line('No matching session.', 'dim');
  return box([search, ...(rows.length > 0 ? rows : [none])], width, {
    title: line('Resume a session', { bold: true }),
    note: line(`${found.length}`, 'dim'),
    keys: '↑↓ Enter · type to search · Esc starts a new one',
    tone: 'accent',
  });
}
