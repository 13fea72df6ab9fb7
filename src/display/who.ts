/** The names of the clients of a session, as this client shows them. */
import type { LiveClient } from '../live/client/index.ts';
import type { EventSource } from '../protocol/development-tool/index.ts';
import { cleanLine } from './text/clean.ts';

export interface Company {
  readonly self: LiveClient;
  readonly clients: readonly LiveClient[];
}

/** Returns the sender's name, or undefined if the sender is this client or is unknown. */
export function nameOf(
  from: EventSource | undefined,
  { self }: Pick<Company, 'self'>,
): string | undefined {
  if (from === undefined || from.client === self.id) return undefined;
  return cleanLine(from.name ?? from.client);
}
