/** Exchanges the ticket in a link of `/remote` for a token. Also runs in browsers. */
import * as z from 'zod';
import { isObject, trimEndOf } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { ConnectionError, errorOfStatus } from '../../client/index.ts';
import { Roles } from './frames.ts';
import type { LiveRole } from './session.ts';

/** A token for a live session, with the roles of its client. */
export interface IssuedToken {
  readonly token: string;
  readonly roles: readonly LiveRole[];
}

const TIMEOUT_MS = 20_000;
/** The HTTP statuses with which a live session refuses a ticket. */
const REFUSALS: ReadonlySet<number> = new Set([401, 429, 503]);
const Issued = z.object({ token: z.string().min(1), roles: Roles });

/** Returns the ticket in a link of `/remote`, or undefined if the URL has none. */
export function ticketIn(url: string): string | undefined {
  const hash = URL.parse(url)?.hash.slice(1) ?? '';
  return new URLSearchParams(hash).get('ticket') ?? undefined;
}

/**
 * Exchanges a ticket for a token at the session's address. Throws an A2AError with the session's reason if the session
 * refuses the ticket: `unauthenticated` if the ticket was used or has expired, `rateLimited` if too many wrong tickets
 * were tried, `unavailable` if there are too many tokens. Throws a ConnectionError if there is no session.
 */
export async function exchangeTicket(
  url: string,
  ticket: string,
  { name, signal }: { readonly name?: string | undefined; readonly signal?: AbortSignal } = {},
): Promise<IssuedToken> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const { origin, pathname } = new URL(url);
  // A proxy may serve the session below a path.
  const address = new URL(
    `${origin}${trimEndOf(pathname.replace(/\/ws$/, ''), '/')}/session/tickets`,
  );
  let response: Response;
  try {
    response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ticket, name }),
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  } catch (error) {
    signal?.throwIfAborted();
    const text = `no live session at ${address.origin}`;
    throw new ConnectionError('unreachable', text, { cause: error });
  }
  if (REFUSALS.has(response.status)) {
    const { kind, detail } = errorOfStatus(response);
    throw new A2AError(kind, await problemIn(response), detail);
  }
  const issued = Issued.safeParse(await response.json().catch(() => undefined));
  if (response.ok && issued.success) return issued.data;
  throw new ConnectionError(
    'unreachable',
    `no live session at ${address.origin} (HTTP ${response.status})`,
  );
}

async function problemIn(response: Response): Promise<string | undefined> {
  const body: unknown = await response.json().catch(() => undefined);
  const error = isObject(body) ? body['error'] : undefined;
  const message = isObject(error) ? error['message'] : undefined;
  return typeof message === 'string' ? message : undefined;
}
