/**
 * Fetches the signing keys of an OpenID Connect issuer: first its discovery document, then the key set at the address
 * in this document. Both are fetched on first use and cached. The issuer's address is trusted, because the operator has
 * configured it. Its responses are limited in size and time.
 *
 * After a failure or an invalid response, no request is sent to the same address for a few seconds, so that requests do
 * not pile up.
 */
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { reasonOf, boundedFetch } from '../../base/index.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;
const DISCOVERY_MS = 3_600_000;
const KEYS_MS = 600_000;
/**
 * A token with an unknown key id causes a new fetch of the key set. This is the minimum time between two such fetches.
 */
const COOLDOWN_MS = 30_000;
const FAILURE_MS = 5000;

const Discovery = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });
const KeySet = z.looseObject({ keys: z.array(z.looseObject({})) });

/** Thrown if the issuer is unavailable, or if its response is invalid. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
}

export interface IssuerOptions {
  readonly now?: () => number;
  readonly cooldownMs?: number;
  readonly failureMs?: number;
}

/**
 * Returns a function that finds the key of a token. The function throws an IssuerError if it cannot fetch the keys, and
 * an error of jose if the issuer has no such key.
 */
export function createIssuer(issuer: string, options: IssuerOptions = {}): JWTVerifyGetKey {
  const { now = Date.now, cooldownMs = COOLDOWN_MS, failureMs = FAILURE_MS } = options;
  let found: { readonly url: string; readonly keys: JWTVerifyGetKey; at: number } | undefined;
  let looking: Promise<JWTVerifyGetKey> | undefined;
  /**
   * The last failure of each address. Failures are kept by address, so that a broken discovery document does not stop
   * the fetches of the known key set.
   */
  const failures = new Map<string, { readonly at: number; readonly error: IssuerError }>();

  /** Fetches a document. `read` checks it. If the document is invalid, `read` throws, and this counts as a failure. */
  async function get<Document>(
    url: string,
    read: (answer: unknown) => Document,
  ): Promise<Document> {
    const failed = failures.get(url);
    if (failed && Math.abs(now() - failed.at) < failureMs) throw failed.error;
    try {
      const document = read(await fetchJson(url));
      failures.delete(url);
      return document;
    } catch (error) {
      const issue = new IssuerError(`${url}: ${reasonOf(error)}`, { cause: error });
      failures.set(url, { at: now(), error: issue });
      throw issue;
    }
  }

  async function discover(): Promise<JWTVerifyGetKey> {
    const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const url = await get(address, (answer) => keySetAddress(answer, issuer));
    if (found?.url === url) {
      found.at = now();
      return found.keys;
    }
    const keys = createRemoteJWKSet(new URL(url), {
      cooldownDuration: cooldownMs,
      cacheMaxAge: KEYS_MS,
      [customFetch]: async (from) => Response.json(await get(from, readKeySet)),
    });
    if (found) failures.delete(found.url);
    found = { url, keys, at: now() };
    return keys;
  }

  async function keySet(): Promise<JWTVerifyGetKey> {
    if (found && Math.abs(now() - found.at) < DISCOVERY_MS) return found.keys;
    looking ??= discover().finally(() => (looking = undefined));
    const known = found?.keys;
    // If the discovery document cannot be refreshed, the last known key set stays in use.
    return known ? looking.catch(() => known) : looking;
  }

  return async (header, token) => (await keySet())(header, token);
}

/** Returns the address of the key set in the discovery document. Throws if the document is invalid. */
function keySetAddress(answer: unknown, issuer: string): string {
  const document = Discovery.safeParse(answer);
  // OpenID Connect Discovery, section 4.3: the `issuer` in the document must be exactly the configured issuer.
  if (!document.success || document.data.issuer !== issuer) {
    throw new Error(`the response is not the discovery document of ${issuer}`);
  }
  const { jwks_uri: url } = document.data;
  if (issuer.startsWith('https:') && !url.startsWith('https:')) {
    throw new Error('the discovery document has a jwks_uri without TLS');
  }
  return url;
}

function readKeySet(answer: unknown): unknown {
  const { success, data } = KeySet.safeParse(answer);
  if (success) return data;
  throw new Error('the response is not a key set');
}

const fetch = boundedFetch(MAX_BYTES);

async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the response status is ${response.status}`);
  }
  return response.json();
}
