/**
 * What is printed for good. Each entry is drawn once, when it is done, and never looked at again: a long session costs
 * no more per key than a short one. Of a session that is joined late only the end is printed.
 */
import { Static } from 'ink';
import { memo, useMemo, useState } from 'react';
import type { Entry } from '../state/entry.ts';
import { EMPTY, line, span, wrap, type StyledLine } from '../text/styled-line.ts';
import type { Theme } from '../text/theme.ts';
import { cleanLine } from '../text/width.ts';
import { entryLines } from '../view/entry-lines.ts';
import type { View } from '../view/view.ts';
import { Lines } from './lines.tsx';

/** Entries of the past that a person who joins is shown. */
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
  // A new width or another client changes nothing that is printed.
  (before, after) => before.entries === after.entries && before.theme === after.theme,
);

function headLines(workspace: string, skipped: number, { width }: View): StyledLine[] {
  const title: StyledLine = [
    span('◆ Parley', { tone: 'accent', bold: true }),
    span(`  ${cleanLine(workspace)}`, 'dim'),
  ];
  const note = line(`… ${skipped} earlier entries are not shown`, 'faint');
  return [...wrap(title, width), EMPTY, ...(skipped > 0 ? [note] : [])];
}

function spaced(entry: Entry, view: View): StyledLine[] {
  return [...(entry.gap ? [EMPTY] : []), ...entryLines(entry, view)];
}
