/** The lines above the text field: the running turn and the queued prompts. */
import type { QueuedPrompt } from '../../live/client/index.ts';
import { fit, line, span, type StyledLine } from '../text/styled-line.ts';
import { cleanLine } from '../text/width.ts';

const MAX_QUEUED = 4;

export function queueLines(
  queued: readonly QueuedPrompt[],
  self: string,
  width: number,
): StyledLine[] {
  const shown = queued.slice(0, MAX_QUEUED).map(({ text, from }): StyledLine => {
    const who = from === self ? '' : `${cleanLine(from)}: `;
    return fit([span('  ○ ', 'faint'), span(who, 'other'), span(cleanLine(text), 'dim')], width);
  });
  const more = queued.length - shown.length;
  return more > 0 ? [...shown, line(`  ○ and ${more} more`, 'faint')] : shown;
}

/** Draws the line for the running turn. `cancels` is true if Esc cancels the turn at the moment. */
export function activityLine(
  spinner: string,
  seconds: number,
  cancels: boolean,
  width: number,
): StyledLine {
  const time = seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  return fit(
    [
      span(`${spinner} `, 'accent'),
      span('Working', 'dim'),
      span(`  ${time}${cancels ? ' · Esc cancels' : ''}`, 'faint'),
    ],
    width,
  );
}
