/**
 * Limits how often a card is signed for a new Host header. The URLs in a card depend on this header, so each name of
 * the server needs its own signatures. Making them takes about a millisecond. Without a limit, a client that invents
 * names could keep the server busy. A server with a public URL has only one name.
 */
import { BoundedMap } from '../base/index.ts';
import { A2AError } from '../protocol/index.ts';

/** Number of names that are remembered. For these names, cards are signed without a limit. */
const MAX_KNOWN = 64;
/** Maximum number of new names in a second: for all clients together, and for one client. */
const MAX_NEW = 32;
const MAX_NEW_PER_CLIENT = 4;
const WINDOW_MS = 1000;

export class SignedHosts {
  readonly #known = new BoundedMap<true>(MAX_KNOWN);
  readonly #byClient = new Map<string, number>();
  #count = 0;
  #until = 0;

  /**
   * Throws `rateLimited` if there were too many new names. `address` is a URL that contains the name, such as the URL
   * of the server's key set.
   */
  check(address: string, client: string): void {
    if (this.#known.get(address)) return;
    const now = performance.now();
    if (now >= this.#until) {
      this.#until = now + WINDOW_MS;
      this.#count = 0;
      this.#byClient.clear();
    }
    const ofClient = this.#byClient.get(client) ?? 0;
    if (this.#count >= MAX_NEW || ofClient >= MAX_NEW_PER_CLIENT) {
      throw new A2AError(
        'rateLimited',
        'Too many requests with different Host headers: use the same host name in all requests',
        { retryAfterSeconds: 1 },
      );
    }
    this.#count++;
    this.#byClient.set(client, ofClient + 1);
    this.#known.set(address, true);
  }
}
