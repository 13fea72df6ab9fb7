/** The lines above the text field: the running turn, the person's own command and the queued prompts. */
import type { QueuedPrompt } from '../../live/client/index.ts';
import {
  type SessionState,
  line,
  span,
  type StyledLine,
  clean,
  cleanLine,
  timeSince,
} from '../../display/index.ts';
import type { Ui } from './ui.ts';
import { cut, fit, gutter, wrapText } from '../text/styled-line.ts';

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

/** Maximum number of lines of a running command's output. */
const MAX_COMMAND_LINES = 6;

export interface CommandRoom {
  readonly spinner: string;
  readonly now: number;
  readonly width: number;
  /** Whether there is no room for the output. */
  readonly crowded: boolean;
}

/** Draws the person's own command while it runs, with the end of its output. */
export function commandLines(
  { command, output, since }: NonNullable<Ui['command']>,
  { spinner, now, width, crowded }: CommandRoom,
): StyledLine[] {
  const first = fit(
    [
      span(`${spinner} `, 'accent'),
      span(`! ${cleanLine(command)}`, { bold: true }),
      span(`  ${timeSince(since, now)} · Esc stops it`, 'faint'),
    ],
    width,
  );
  const text = clean(output).trimEnd();
  if (crowded || text === '') return [first];
  const lines = text.split('\n').map((each) => fit(line(each, 'dim'), width - 4));
  const bar = line('  │ ', 'faint');
  return [first, ...gutter(cut(lines, MAX_COMMAND_LINES, 'last'), bar, bar)];
}

/** Maximum number of lines for the reason of a retry. */
const MAX_REASON_LINES = 3;

export interface Activity {
  readonly spinner: string;
  /** The time when this client first saw the turn, and the current time, in milliseconds since 1970. */
  readonly since: number;
  readonly now: number;
  /** Whether Esc cancels the turn at the moment. */
  readonly cancels: boolean;
  readonly retry: SessionState['retry'];
}

/**
 * Draws the running turn. While a request to the model waits for its retry, also draws the time and the reason of the
 * retry.
 */
export function activityLines(
  { spinner, since, now, cancels, retry }: Activity,
  width: number,
): StyledLine[] {
  const time = timeSince(since, now);
  const what = retry ? `Retrying in ${secondsUntil(retry.retryAt, now)}s` : 'Working';
  const first = fit(
    [
      span(`${spinner} `, 'accent'),
      span(what, retry ? 'warning' : 'dim'),
      span(`${retry ? '' : `  ${time}`}${cancels ? ' · Esc cancels' : ''}`, 'faint'),
    ],
    width,
  );
  const reason = retry ? wrapText(cleanLine(retry.text), width - 2, 'dim') : [];
  return [first, ...gutter(cut(reason, MAX_REASON_LINES), line('  '), line('  '))];
}

export function secondsUntil(time: number, now: number): number {
  return Math.max(0, Math.ceil((time - now) / 1000));
}
