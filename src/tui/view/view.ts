/** Parameters of the drawing functions, and the prefixes with the name of a sender or a helper. */
import { type Company, cleanLine, nameOf, span, type StyledLine } from '../../display/index.ts';
import type { EventSource, HelperMark } from '../../protocol/development-tool/index.ts';

/** Minimum width for layout, even if the terminal is narrower. */
export const MIN_WIDTH = 20;

export interface View extends Company {
  readonly width: number;
  /** The height of the terminal. Undefined if lines are printed without a screen. */
  readonly height?: number;
  readonly renderers: typeof import('./renderers.ts');
  /** Whether to use words instead of symbols, for screen readers. */
  readonly plain: boolean;
  /** The symbol that running calls show in this frame. */
  readonly spinner: string;
}

/**
 * Returns the prefix of a prompt: `[A2A] phone: `, or only the name if the sender is a terminal. Empty for this client
 * and for an unknown sender.
 */
export function signature(from: EventSource | undefined, company: Company): StyledLine {
  const name = nameOf(from, company);
  if (name === undefined) return [];
  const client = company.clients.find(({ id }) => id === from?.client);
  const mark = client?.kind === 'terminal' ? '' : '[A2A] ';
  return [span(mark, { tone: 'other', bold: true }), span(`${name}: `, 'other')];
}

/** Returns the prefix of a call or a thought of a helper: `NAME › `. Empty for the agent itself. */
export function helperSpans({ agent }: HelperMark): StyledLine {
  return agent === undefined ? [] : [span(`${cleanLine(agent)} › `, 'dim')];
}
