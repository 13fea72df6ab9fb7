/** Draws the status line: model, approval mode, usage and connected clients. */
import type { LiveClient } from '../../live/client/index.ts';
import type { SessionState } from '../state/state.ts';
import { fit, lineWidth, span, type StyledLine, type StyledText } from '../text/styled-line.ts';
import { cleanLine } from '../text/width.ts';

export interface StatusView {
  readonly state: SessionState;
  readonly self: LiveClient;
  readonly width: number;
  /** The URL where other clients can join. */
  readonly a2aUrl?: string | undefined;
  /** The URL of the session, if it runs in another process. */
  readonly attachedTo?: string | undefined;
  /** A text that replaces the status line. */
  readonly hint?: string | undefined;
}

export function statusLine(view: StatusView): StyledLine {
  const { state, width, hint } = view;
  if (hint !== undefined) return fit([span(` ${hint}`, 'warning')], width);
  const mode = state.approval;
  const left = joined([
    span(cleanLine(state.model), 'dim'),
    span(mode, mode === 'yolo' ? 'warning' : 'dim'),
    span(contextText(state), 'dim'),
    span(costText(state), 'dim'),
  ]);
  const right = joined([span(whereText(view), 'accent'), span(companyText(view), 'dim')]);
  const space = width - lineWidth(left) - lineWidth(right) - 2;
  // In a narrow terminal the clients are more important than the usage.
  if (space < 1) {
    const short = joined([span(cleanLine(state.model), 'dim'), span(mode, 'dim')]);
    const room = width - lineWidth(right) - 3;
    const start = room > 3 ? fit(short, room) : [];
    return fit([span(' '), ...start, ...(start.length > 0 ? [span(' ')] : []), ...right], width);
  }
  return [span(' '), ...left, span(' '.repeat(space)), ...right, span(' ')];
}

function joined(parts: readonly StyledText[]): StyledLine {
  return parts
    .filter(({ text }) => text !== '')
    .flatMap((part, index) => (index === 0 ? [part] : [span(' · ', 'faint'), part]));
}

function contextText({ usage }: SessionState): string {
  const { contextTokens: used, contextLimit: limit } = usage;
  if (used === undefined) return '';
  return limit === undefined || limit === 0
    ? `${short(used)} tokens`
    : `${Math.round((used / limit) * 100)}% of ${short(limit)}`;
}

function costText({ usage }: SessionState): string {
  return usage.costUsd === undefined ? '' : `$${usage.costUsd.toFixed(usage.costUsd < 1 ? 3 : 2)}`;
}

function short(count: number): string {
  if (count < 1000) return `${count}`;
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

function whereText({ a2aUrl, attachedTo }: StatusView): string {
  if (attachedTo !== undefined) return `attached ${hostOf(attachedTo)}`;
  return a2aUrl === undefined ? '' : `A2A :${portOf(a2aUrl)}`;
}

/** Returns a text with the number of other clients. */
function companyText({ state, self, a2aUrl, attachedTo }: StatusView): string {
  const others = state.clients.filter(({ id }) => id !== self.id).length;
  if (others === 0 && a2aUrl === undefined && attachedTo === undefined) return '';
  return `${others} ${others === 1 ? 'client' : 'clients'}`;
}

function portOf(url: string): string {
  if (!URL.canParse(url)) return cleanLine(url);
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol.startsWith('https') ? '443' : '80') : port;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : cleanLine(url);
}
