/** The names of senders and helpers, as shown to the person at this terminal. */
import type { EventSource, HelperMark } from '../../protocol/development-tool/index.ts';
import { cleanLine, nameOf, span, type Company, type StyledLine } from '../../display/index.ts';

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
