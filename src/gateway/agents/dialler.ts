/**
 * Creates connections to remote agents. Agents from the configuration are trusted and may be in any network. Agents
 * that callers registered are guarded. They may only be in public networks and in networks that the operator allowed. A
 * trusted and a guarded agent never share a connection.
 */
import { Agent, buildConnector, fetch as undiciFetch, type Dispatcher } from 'undici';
import { AddressError, networkGuard, type NetworkGuard } from '../../base/net/index.ts';

/** How to reach an agent. */
export interface AgentRoute {
  /** Makes the HTTP connections. */
  readonly dispatcher: Dispatcher;
  /**
   * Checks the addresses of gRPC connections. Undefined for a trusted agent. The dispatcher checks HTTP connections.
   */
  readonly guard: NetworkGuard | undefined;
  /** Aborted when the dialler is closed. */
  readonly signal: AbortSignal;
}

const CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

export function createDialler(allowNetworks: readonly string[]) {
  const guard = networkGuard(allowNetworks);
  const dial = buildConnector({ lookup: guard.lookup, timeout: CONNECT_MS });
  const options = { keepAliveTimeout: KEEP_ALIVE_MS, maxRedirections: 0 };
  const trusted = new Agent({ ...options, connect: { timeout: CONNECT_MS } });
  const guarded = new Agent({
    ...options,
    connect(target, callback) {
      // If the host is an IP address, the socket does not call `lookup`. So the address is checked here.
      if (guard.closes(new URL(`http://${bracketed(target.hostname)}`))) {
        callback(new AddressError('the address is in a network that is not allowed'), null);
      } else dial(target, callback);
    },
  });
  const closing = new AbortController();
  const routeOf = (dispatcher: Dispatcher, checked?: NetworkGuard): AgentRoute => ({
    dispatcher,
    guard: checked,
    signal: closing.signal,
  });
  return {
    trusted: routeOf(trusted),
    guarded: routeOf(guarded, guard),
    /**
     * Returns whether the URL contains an IP address that a guarded agent may not have. Does not resolve host names.
     */
    closes: (url: string) => guard.closes(new URL(url)),
    async close() {
      closing.abort();
      await Promise.all([trusted.destroy(), guarded.destroy()]);
    },
  };
}

function bracketed(hostname: string): string {
  return hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname;
}

/**
 * Returns a `fetch` that uses the dispatcher. It is slower than an `Exchange` (exchange.ts), so it is used only for
 * agent cards.
 */
export function fetchOver(dispatcher: Dispatcher): typeof globalThis.fetch {
  // undici's types differ from those of Node's fetch only in members that are not used here.
  const fetch = undiciFetch as unknown as (
    input: unknown,
    init: object | undefined,
  ) => Promise<Response>;
  return (input, init) => fetch(input, { ...init, dispatcher });
}
