/** Fetches and caches the public keys of a signer, which are published as a JWK set (RFC 7517). */
import { isObject } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { PublicJwk } from './jws.ts';
import { fetchJson } from './request.ts';

/** The path of a server's key set. */
export const KEY_SET_PATH = '/.well-known/jwks.json';

const MAX_BYTES = 2 ** 18;
const MAX_KEYS = 100;
const TIMEOUT_MS = 10_000;
/** How long a set is used before it is fetched again. A key that the signer has removed may be accepted until then. */
const MAX_AGE_MS = 600_000;
/** Minimum time between two requests for a set, so that forged signatures cannot cause many requests. */
const MIN_AGE_MS = 10_000;

/**
 * Reads a JWK set. Throws if the value is not a JWK set, or has more than MAX_KEYS keys. Leaves out entries that are
 * not keys. Keys of unknown types are kept, but no supported algorithm uses them.
 */
export function readKeySet(raw: unknown): PublicJwk[] {
  if (!isObject(raw) || !Array.isArray(raw['keys']) || raw['keys'].length > MAX_KEYS) {
    throw new A2AError(
      'invalidAgentResponse',
      `The response is not a JWK set with at most ${MAX_KEYS} keys`,
    );
  }
  return raw['keys'].filter(isPublicJwk);
}

function isPublicJwk(key: unknown): key is PublicJwk {
  if (!isObject(key) || typeof key['kty'] !== 'string') return false;
  const fields = ['kid', 'alg', 'use', 'crv', 'x', 'y', 'n', 'e'];
  return fields.every((name) => key[name] === undefined || typeof key[name] === 'string');
}

/** Fetches the set once. The keys are public, so the request has no credentials. */
export function fetchKeySet(
  url: string,
  fetch?: typeof globalThis.fetch,
  signal?: AbortSignal,
): Promise<PublicJwk[]> {
  const ownHeaders = { Accept: 'application/jwk-set+json, application/json' };
  const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
  return fetchJson({ url, headers: undefined, ownHeaders, ...limits, fetch, signal }, readKeySet);
}

/** A key set that is fetched when it is needed, and kept for a while. */
export class RemoteKeySet {
  /** The address of the set. */
  readonly url: string;
  readonly #fetch: typeof globalThis.fetch | undefined;
  #keys: readonly PublicJwk[] = [];
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** The last request for the set. */
  #request: Promise<void> = Promise.resolve();
  /** The time at which the last request started. */
  #requestedAt = Number.NEGATIVE_INFINITY;
  /** Whether the last request is in progress. */
  #loading = false;

  constructor(url: string, fetch?: typeof globalThis.fetch) {
    this.url = url;
    this.#fetch = fetch;
  }

  /** Returns the keys. Fetches them first if they were never fetched or are too old. Throws if the request fails. */
  async keys(): Promise<readonly PublicJwk[]> {
    // If the last request failed less than MIN_AGE_MS ago, it is not repeated, and its error is thrown again.
    if (performance.now() - this.#fetchedAt >= MAX_AGE_MS) {
      await (this.#isRecent() ? this.#request : this.#load());
    }
    return this.#keys;
  }

  /**
   * Fetches the keys again after a signature did not match, because the signer may have a new key. If a request is in
   * progress, waits for this request instead. Returns undefined if the last request is complete and began less than
   * MIN_AGE_MS ago, or if the keys cannot be fetched.
   */
  async newKeys(): Promise<readonly PublicJwk[] | undefined> {
    if (this.#isRecent() && !this.#loading) return undefined;
    try {
      await (this.#loading ? this.#request : this.#load());
      return this.#keys;
    } catch {
      return undefined;
    }
  }

  #isRecent(): boolean {
    return this.#loading || performance.now() - this.#requestedAt < MIN_AGE_MS;
  }

  #load(): Promise<void> {
    const now = performance.now();
    this.#requestedAt = now;
    this.#loading = true;
    this.#request = fetchKeySet(this.url, this.#fetch)
      .then((keys) => {
        this.#keys = keys;
        this.#fetchedAt = now;
      })
      .finally(() => {
        this.#loading = false;
      });
    return this.#request;
  }
}
