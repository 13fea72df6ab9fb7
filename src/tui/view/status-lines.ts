/**
 * Draws the lines above the text field (the running turn, the person's own command and the queued prompts) and the
 * status line (model, approval mode, usage and connected clients).
 */
import {
  EMPTY,
  contextPart,
  costText,
  type SessionState,
  span,
  type StyledLine,
  type StyledText,
  cleanLine,
  line,
  clean,
  timeSince,
} from '../../display/index.ts';
import type { LiveClient, QueuedPrompt } from '../../live/client/index.ts';
import { MAX_LISTED_CLIENTS } from '../../live/client/roles/index.ts';
import { fit, lineWidth, cut, gutter, wrapText } from '../text/styled-line.ts';
import type { Ui } from './ui.ts';

export interface StatusView {
  readonly state: SessionState;
  readonly self: LiveClient;
  readonly width: number;
  /** The port where other clients can join. */
  readonly a2aPort?: number | undefined;
  /** The URL of the session, if it runs in another process. */
  readonly attachedTo?: string | undefined;
  /** The mode that the person has chosen, as long as the session does not have this mode yet. */
  readonly mode?: string | undefined;
  /** A text that replaces the status line. */
  readonly hint?: string | undefined;
}

/** Minimum number of characters of the model's name in a narrow terminal. */
const MIN_MODEL = 6;

/**
 * The parts of the line, from the widest layout to the narrowest. All layouts contain the mode. They also contain the
 * port where other clients can join or, if the session runs in another process, its host.
 */
const LAYOUTS: readonly Layout[] = [
  { usage: 'all', clients: true, model: 'whole' },
  { usage: 'context', clients: true, model: 'whole' },
  { usage: 'percent', clients: true, model: 'whole' },
  { usage: 'percent', clients: true, model: 'cut' },
  { usage: 'none', clients: true, model: 'cut' },
  { usage: 'none', clients: true, model: 'none' },
  { usage: 'none', clients: false, model: 'none' },
];

interface Layout {
  readonly usage: 'all' | 'context' | 'percent' | 'none';
  readonly clients: boolean;
  readonly model: 'whole' | 'cut' | 'none';
}

export function statusLine(view: StatusView): StyledLine {
  const { width, hint } = view;
  if (hint !== undefined) return fit([span(` ${hint}`, 'warning')], width);
  for (const layout of LAYOUTS) {
    const drawn = draw(view, layout);
    if (drawn) return drawn;
  }
  return fit([span(' '), modeSpan(view.mode ?? view.state.approval)], width);
}

/** Draws the approval mode. A mode in which changes need fewer approvals has a mark that is visible without colours. */
function modeSpan(mode: string): StyledText {
  if (mode === 'yolo') return span('⚠ yolo', { tone: 'bad', bold: true });
  if (mode === 'auto-edit') return span('⚠ auto-edit', 'warning');
  return span(cleanLine(mode), mode === 'plan' ? 'accent' : 'dim');
}

/** Returns the line, or undefined if it does not fit. */
function draw(view: StatusView, { usage, clients, model }: Layout): StyledLine | undefined {
  const { state, width } = view;
  const mode = modeSpan(view.mode ?? state.approval);
  const context = usage === 'none' ? '' : contextText(state, usage === 'percent');
  const rest = [mode, span(context, 'dim'), span(usage === 'all' ? costText(state) : '', 'dim')];
  const right = joined([
    span(whereText(view), 'accent'),
    span(clients ? companyText(view) : '', 'dim'),
  ]);
  const name = span(model === 'none' ? '' : cleanLine(state.model), 'dim');
  // One column at each end is reserved, and one between the two sides.
  const room = width - lineWidth(right) - 3;
  const whole = joined([name, ...rest]);
  const over = lineWidth(whole) - room;
  if (over <= 0) {
    const space = ' '.repeat(width - lineWidth(whole) - lineWidth(right) - 2);
    return [span(' '), ...whole, span(space), ...right, span(' ')];
  }
  const kept = lineWidth([name]) - over;
  if (model !== 'cut' || kept < MIN_MODEL) return undefined;
  const [cutName = name] = fit([name], kept);
  return [span(' '), ...joined([cutName, ...rest]), span(' '), ...right, span(' ')];
}

function joined(parts: readonly StyledText[]): StyledLine {
  return parts
    .filter(({ text }) => text !== '')
    .flatMap((part, index) => (index === 0 ? [part] : [span(' · ', 'faint'), part]));
}

function contextText(state: SessionState, brief: boolean): string {
  const { contextTokens: used, contextLimit: limit } = state.usage;
  if (used === undefined) return '';
  const part = contextPart(state);
  if (part === '' || limit === undefined) return brief ? short(used) : `${short(used)} tokens`;
  return brief ? part : `${part} of ${short(limit)}`;
}

function short(count: number): string {
  if (count < 1000) return `${count}`;
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

function whereText({ a2aPort, attachedTo }: StatusView): string {
  if (attachedTo !== undefined) return `attached ${hostOf(attachedTo)}`;
  return a2aPort === undefined ? '' : `A2A :${a2aPort}`;
}

/**
 * Returns the number of other clients as text. The text has a `+` if the session lists only the first of very many
 * clients. The text is empty if there are no other clients, and neither `a2aPort` nor `attachedTo` is set.
 */
function companyText({ state, self, a2aPort, attachedTo }: StatusView): string {
  const others = state.clients.filter(({ id }) => id !== self.id).length;
  if (others === 0 && a2aPort === undefined && attachedTo === undefined) return '';
  const more = state.clients.length >= MAX_LISTED_CLIENTS ? '+' : '';
  return `${others}${more} ${others === 1 ? 'client' : 'clients'}`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : cleanLine(url);
}

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

/** Maximum number of lines for the reason of a retry. */
const MAX_REASON_LINES = 3;

export interface ActivityRoom {
  readonly spinner: string;
  /** The current time, in milliseconds since 1970. */
  readonly now: number;
  readonly width: number;
  /** Whether there is room only for the first line of the person's own command. */
  readonly crowded: boolean;
  /** Whether Esc cancels the turn at the moment. */
  readonly cancels: boolean;
}

/** Draws the person's own command and the running turn, below a blank line. Returns no lines if neither runs. */
export function activityLines(ui: Ui, room: ActivityRoom): StyledLine[] {
  const own = ui.command ? commandLines(ui.command, room) : [];
  const lines = [...own, ...(room.crowded ? [] : turnLines(ui, room))];
  return lines.length > 0 ? [EMPTY, ...lines] : [];
}

/** Draws the person's own command while it runs, with the end of its output. */
function commandLines(
  { command, output, since }: NonNullable<Ui['command']>,
  { spinner, now, width, crowded }: ActivityRoom,
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

/**
 * Draws the running turn with its duration. While a request to the model waits for its retry, draws the time until the
 * retry instead, and the reason of the retry.
 */
function turnLines(
  { busySince, state: { retry } }: Ui,
  { spinner, now, width, cancels }: ActivityRoom,
): StyledLine[] {
  if (busySince === undefined) return [];
  const time = timeSince(busySince, now);
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
