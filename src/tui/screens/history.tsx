/**
 * Prints the finished entries. Each entry is printed once and never redrawn, so that the cost of a key press does not
 * grow with the session. A client that joins late prints only the most recent entries.
 */
import { Static } from 'ink';
import { memo, useMemo, useState } from 'react';
import { type Entry, EMPTY, line, span, type StyledLine, cleanLine } from '../../display/index.ts';
import { wrap } from '../text/styled-line.ts';
import type { Theme } from '../text/theme.ts';
import { entryLines } from '../view/entry-lines.ts';
import type { View } from '../view/view.ts';
import { Lines } from './lines.tsx';

/** Maximum number of earlier entries that a joining client prints. */
const MAX_PAST = 200;

interface HistoryProps {
  readonly entries: readonly Entry[];
  readonly workspace: string;
  readonly view: View;
  readonly theme: Theme;
}

export const History = memo(
  function History({ entries, workspace, view, theme }: HistoryProps) {
    const [skipped] = useState(() => Math.max(0, entries.length - MAX_PAST));
    const items = useMemo(() => ['head' as const, ...entries.slice(skipped)], [entries, skipped]);
    return (
      <Static items={items}>
        {(item) =>
          item === 'head' ? (
            <Lines key="head" lines={headLines(workspace, skipped, view)} theme={theme} />
          ) : (
            <Lines key={item.id} lines={spaced(item, view)} theme={theme} />
          )
        }
      </Static>
    );
  },
  // Printed entries are not redrawn when the width or the list of clients changes.
  (before, after) => before.entries === after.entries && before.theme === after.theme,
);

function headLines(workspace: string, skipped: number, { width }: View): StyledLine[] {
  const title: StyledLine = [
    span('◆ Parley', { tone: 'accent', bold: true }),
    span(`  ${cleanLine(workspace)}`, 'dim'),
  ];
  const note = line(
    `… ${skipped} earlier ${skipped === 1 ? 'entry is' : 'entries are'} not shown`,
    'faint',
  );
  return [...wrap(title, width), EMPTY, ...(skipped > 0 ? [note] : [])];
}

function spaced(entry: Entry, view: View): StyledLine[] {
  return [...(entry.gap ? [EMPTY] : []), ...entryLines(entry, view)];
}
