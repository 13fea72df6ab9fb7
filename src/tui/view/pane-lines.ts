/**
 * Draws a scrollable pane above the text field: complete thoughts, the complete output of a call, or a complete
 * request.
 */
import {
  type ThoughtEntry,
  EMPTY,
  line,
  span,
  type StyledLine,
  clean,
} from '../../display/index.ts';
import { wrap, wrapText } from '../text/styled-line.ts';
import { box } from './box.ts';
import { helperSpans } from './who.ts';

export interface PaneView {
  readonly title: string;
  readonly content: readonly StyledLine[];
  /** The number of rows above the visible part. */
  readonly scroll: number;
  readonly width: number;
  readonly maxRows: number;
  /** Whether the pane covers a dialog that waits for an answer. */
  readonly covers?: boolean;
}

export interface Pane {
  readonly lines: readonly StyledLine[];
  /** The scroll position, limited to the content. */
  readonly scroll: number;
}

export function paneLines({ title, content, scroll, width, maxRows, covers }: PaneView): Pane {
  const room = Math.max(1, maxRows - 2);
  const first = Math.max(0, Math.min(scroll, content.length - room));
  const shown = content.slice(first, first + room);
  const note = `${first + 1}–${first + shown.length} of ${content.length}`;
  const lines = box(shown, width, {
    title: line(title, { bold: true }),
    ...(content.length > room && { note: line(note, 'dim') }),
    keys: [
      ...(covers === true ? ['A question is waiting'] : []),
      ...(content.length > room ? ['↑↓ PgUp PgDn Home End'] : []),
      'Esc closes',
    ].join(' · '),
    tone: covers === true ? 'warning' : 'accent',
  });
  return { lines, scroll: first };
}

export function thoughtContent(thoughts: readonly ThoughtEntry[], width: number): StyledLine[] {
  return thoughts.flatMap(({ thought }, index) => [
    ...(index > 0 ? [EMPTY] : []),
    ...wrap(
      [...helperSpans(thought), span(clean(thought.subject), { tone: 'accent', bold: true })],
      width,
    ),
    ...wrapText(thought.description, width),
  ]);
}
