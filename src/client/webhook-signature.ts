/**
 * Verifies webhooks that are signed as specified by Standard Webhooks, with Ed25519 (`v1a`). The signature covers the
 * id, the time and the body, so that a receiver can refuse old requests and recognize repeated ones.
 */
import { reasonOf } from '../base/index.ts';
import { A2AError } from '../protocol/index.ts';
import { fitsAlgorithm, fromBase64, verifySignature, type PublicJwk } from './connection/jws.ts';
import { RemoteKeySet } from './connection/key-set.ts';

/** The trusted keys of signed webhooks, and the options of the verification. */
export interface WebhookTrust {
  /** Public keys of the agents' servers, as JSON. */
  readonly keys?: readonly PublicJwk[] | undefined;
  /**
   * Addresses of the key sets of the agents' servers, such as `https://agent.example/.well-known/jwks.json`. A set is
   * fetched when it is needed, and kept for ten minutes. If a signature does not match, the set is fetched again, at
   * most once in ten seconds.
   */
  readonly jwks?: string | readonly string[] | undefined;
  /** Maximum difference between the time of a request and the receiver's clock. Default: 300 seconds. */
  readonly toleranceSeconds?: number | undefined;
  /** A replacement for the global `fetch`, for the key sets. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const ALGORITHM = 'EdDSA';
const SCHEME = 'v1a,';
const MAX_SIGNATURES = 4;
/** Maximum number of keys of a fetched set that are tried. All keys in the option `keys` are tried. */
const MAX_FETCHED_KEYS = 16;
/**
 * Maximum length of a notification's id, which contains the id of the configuration. Parley's servers percent-encode
 * the configuration's id, which can make that id nine times as long.
 */
export const MAX_ID_CHARS = 4096;

/** The headers of a signed webhook. */
export interface SignedHead {
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: readonly Uint8Array<ArrayBuffer>[];
}

export interface WebhookVerifier {
  /** Reads the headers before the body is read. Throws `unauthenticated` if they are missing or invalid. */
  head(header: (name: string) => string | undefined): SignedHead;
  /**
   * Throws `unauthenticated` if no signature is valid, or a KeysUnavailableError if a key set that may have the key
   * cannot be fetched. Returns a name of the sender: the key, if it is one of the given `keys`, or the address of the
   * key set that contains it.
   */
  verify(head: SignedHead, body: string): Promise<string>;
}

/** Makes a verifier, or returns undefined if signatures are not required. */
export function webhookVerifier(trust: WebhookTrust): WebhookVerifier | undefined {
  const { keys: pinned = [], jwks = [], toleranceSeconds = 300, fetch } = trust;
  const addresses = typeof jwks === 'string' ? [jwks] : jwks;
  if (trust.keys === undefined && addresses.length === 0) return undefined;
  const sets = addresses.map((url) => new RemoteKeySet(url, fetch));

  async function matching(
    keys: readonly PublicJwk[],
    head: SignedHead,
    body: string,
  ): Promise<PublicJwk | undefined> {
    const data = `${head.id}.${head.timestamp}.${body}`;
    for (const key of keys) {
      for (const signature of head.signatures) {
        if (await verifySignature(ALGORITHM, key, signature, data)) return key;
      }
    }
    return undefined;
  }

  return {
    head(header) {
      const id = header('webhook-id') ?? '';
      const timestamp = header('webhook-timestamp') ?? '';
      const signatures = (header('webhook-signature') ?? '')
        .split(' ', MAX_SIGNATURES)
        .filter((part) => part.startsWith(SCHEME))
        .map((part) => fromBase64(part.slice(SCHEME.length)))
        .filter((bytes) => bytes !== undefined);
      if (id === '' || id.length > MAX_ID_CHARS || signatures.length === 0) {
        throw refused('The notification has no valid id, or no Ed25519 signature');
      }
      const age = Date.now() / 1000 - Number(timestamp);
      if (!/^\d{1,12}$/.test(timestamp) || Math.abs(age) > toleranceSeconds) {
        throw refused(
          'The time of the notification is missing, or too far from the time of this server',
        );
      }
      return { id, timestamp, signatures };
    },
    async verify(head, body) {
      const key = await matching(pinned, head, body);
      if (key) return JSON.stringify([key.x, key.kid]);
      let failure: KeysUnavailableError | undefined;
      for (const set of sets) {
        try {
          if (await matching(limited(await set.keys()), head, body)) return set.url;
        } catch (error) {
          failure = new KeysUnavailableError(set.url, error);
        }
      }
      for (const set of sets) {
        const keys = await set.newKeys();
        if (keys && (await matching(limited(keys), head, body))) return set.url;
      }
      if (failure) throw failure;
      throw refused('The signature of the notification is not valid');
    },
  };
}

/** Means that a notification could not be verified, because a key set cannot be fetched. */
export class KeysUnavailableError extends Error {
  override readonly name = 'KeysUnavailableError';

  constructor(url: string, cause: unknown) {
    super(`the keys at ${url} are unavailable: ${reasonOf(cause)}`, { cause });
  }
}

/** Returns the keys of a fetched set that are tried. */
function limited(keys: readonly PublicJwk[]): readonly PublicJwk[] {
  return keys.filter((key) => fitsAlgorithm(key, ALGORITHM)).slice(0, MAX_FETCHED_KEYS);
}

function refused(message: string): A2AError {
  return new A2AError('unauthenticated', message);
}
