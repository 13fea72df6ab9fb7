/**
 * Prints the finished entries. A printed entry is not part of the frame that is redrawn, so that the cost of a key
 * press does not grow with the session. When the whole screen is drawn again, only the entries that fit on it are
 * printed again. A client that joins late prints only the most recent entries.
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
  /** Whether the history is printed again. If true, only the entries that fit on the screen are printed. */
  readonly redrawn: boolean;
}

export const History = memo(
  function History({ entries, workspace, view, theme, redrawn }: HistoryProps) {
    const [skipped] = useState(() =>
      redrawn ? aboveScreen(entries, view) : Math.max(0, entries.length - MAX_PAST),
    );
    // The head and the entries above the screen are not printed again, because they stay in the terminal's scrollback.
    const hasHead = !redrawn || skipped === 0;
    const items = useMemo(
      () => [...(hasHead ? ['head' as const] : []), ...entries.slice(skipped)],
      [entries, skipped, hasHead],
    );
    return (
      <Static items={items}>
        {(item) =>
          item === 'head' ? (
            <Lines
              key="head"
              lines={headLines(workspace, redrawn ? 0 : skipped, view)}
              theme={theme}
            />
          ) : (
            <Lines key={item.id} lines={spaced(item, view)} theme={theme} />
          )
        }
      </Static>
    );
  },
  // A change of the width or of the list of clients alone does not draw printed entries again.
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

/** Returns the number of entries above the screen when the last entries fill the screen. */
function aboveScreen(entries: readonly Entry[], view: View): number {
  let left = view.height ?? 0;
  let first = entries.length;
  while (first > 0 && left > 0) {
    first -= 1;
    const entry = entries[first];
    left -= entry ? spaced(entry, view).length : 0;
  }
  return first;
}

function spaced(entry: Entry, view: View): StyledLine[] {
  return [...(entry.gap ? [EMPTY] : []), ...entryLines(entry, view)];
}
