/**
 * How agents are reached: those of the configuration wherever they are, those that callers registered only in public
 * networks and in what the operator opened. The address is checked when a connection is made, after the name was
 * resolved, and the two never share a connection.
 */
import { Agent, buildConnector, fetch as undiciFetch, type Dispatcher } from 'undici';
import { addressGuard, guardedLookup, literalAddress } from '../../http/index.ts';

export interface Dialler {
  readonly trusted: Dispatcher;
  readonly guarded: Dispatcher;
  /** Whether it is sure, without a look at the name, that the address is closed to callers. */
  closes(url: string): boolean;
  close(): Promise<void>;
}

/** What a guarded connection fails with. */
export class ClosedNetworkError extends Error {
  override readonly name = 'ClosedNetworkError';
}

const CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

export function createDialler(allowNetworks: readonly string[]): Dialler {
  const allowed = addressGuard(allowNetworks);
  const lookup = guardedLookup(allowed);
  const dial = buildConnector({ lookup, timeout: CONNECT_MS });
  const options = { keepAliveTimeout: KEEP_ALIVE_MS, maxRedirections: 0 };
  const trusted = new Agent({ ...options, connect: { timeout: CONNECT_MS } });
  const guarded = new Agent({
    ...options,
    connect(target, callback) {
      // A socket asks nobody about an address that is written out.
      const literal = literalAddress(new URL(`http://${bracketed(target.hostname)}`));
      if (literal !== undefined && !allowed(literal)) {
        callback(new ClosedNetworkError('the address is in a network that is closed'), null);
      } else dial(target, callback);
    },
  });
  return {
    trusted,
    guarded,
    closes(url) {
      const literal = literalAddress(new URL(url));
      return literal !== undefined && !allowed(literal);
    },
    async close() {
      await Promise.all([trusted.destroy(), guarded.destroy()]);
    },
  };
}

function bracketed(hostname: string): string {
  return hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname;
}

/** `fetch` over a dispatcher, for what is not worth a shorter way: cards. */
export function fetchOver(dispatcher: Dispatcher): typeof globalThis.fetch {
  // Node's own fetch is another copy of the same code: its types differ in what is not used here.
  const fetch = undiciFetch as unknown as (
    input: unknown,
    init: object | undefined,
  ) => Promise<Response>;
  return (input, init) => fetch(input, { ...init, dispatcher });
}
