/** Draws the status line: model, approval mode, usage and connected clients. */
import type { LiveClient } from '../../live/client/index.ts';
import { MAX_LISTED_CLIENTS } from '../../live/client/roles/index.ts';
import {
  contextPart,
  costText,
  type SessionState,
  span,
  type StyledLine,
  type StyledText,
  cleanLine,
} from '../../display/index.ts';
import { fit, lineWidth } from '../text/styled-line.ts';

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
 * The parts of the line, from the widest layout to the narrowest. All layouts contain the mode. If the session has a
 * port, or runs at another host, they also contain the port or the host.
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
