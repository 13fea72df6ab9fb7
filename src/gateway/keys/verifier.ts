/**
 * Verifies the secrets of keys. This runs for every request with a key, so valid secrets are cached by their prefix
 * until the register (the gateway's database) changes. A cached secret is compared in constant time. Invalid secrets
 * are not cached, so that guesses cannot fill the memory.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type { Logger } from '../../tasks/index.ts';
import { type Register, type Row, statement } from '../register/register.ts';
import { BoundedMap, type MaybePromise } from '../../base/index.ts';
import type { Pepper } from './pepper.ts';
import { RateLimit } from './schema.ts';
import { prefixOf } from './token.ts';

const MAX_REMEMBERED = 10_000;
/** Minimum time between two updates of a key's `last_used_at`. */
const TOUCH_MS = 60_000;

/** The columns of a key in the register. */
export const StoredKey = z.object({
  id: z.string(),
  name: z.string(),
  workspace: z.string(),
  scopes: z.string(),
  rate_limit: z.string().nullable(),
  revoked_at: z.number().nullable(),
  expires_at: z.number().nullable(),
  last_used_at: z.number().nullable(),
});
const StoredSecret = StoredKey.extend({ ends_at: z.number().nullable() });

/** The key of a valid secret. */
export interface VerifiedKey {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  readonly scopes: ReadonlySet<string>;
  readonly rateLimit: RateLimit | undefined;
}

interface Remembered {
  /** The secret itself. */
  readonly bytes: Buffer;
  readonly key: VerifiedKey;
  /** The time when the secret or the key expires, whichever is earlier. */
  readonly until: number;
  touchedAt: number;
}

export interface VerifierOptions {
  readonly register: Register;
  readonly pepper: Pepper;
  readonly logger: Logger;
  readonly now: () => number;
}

const FIND = statement(`
  SELECT k.id, k.name, k.workspace, k.scopes, k.rate_limit, k.revoked_at, k.expires_at, k.last_used_at,
         s.ends_at, s.hash, s.pepper
  FROM key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.prefix = ?`);
const TOUCH = statement('UPDATE api_keys SET last_used_at = ? WHERE id = ?');

/** Returns a function that returns the key of a secret, or undefined if the secret or the key is not valid now. */
export function createVerifier({ register, pepper, logger, now }: VerifierOptions) {
  const remembered = new BoundedMap<Remembered>(MAX_REMEMBERED);
  /**
   * A random hash. A secret with an unknown prefix is compared with it, so that the response time does not reveal
   * whether a prefix exists.
   */
  const noHash = randomBytes(32);
  const warned = new Set<string>();
  /** The lookups in progress. Parallel requests with the same secret share a lookup. */
  const looking = new Map<string, Promise<VerifiedKey | undefined>>();
  let version = register.changed();

  function opened(text: string, row: Row | undefined, time: number): Remembered | undefined {
    const hashed = row?.['hash'];
    const matches = same(pepper.hash(text), hashed instanceof Uint8Array ? hashed : noHash);
    if (!row) return undefined;
    if (!matches) {
      if (row['pepper'] !== pepper.id) warn(String(row['pepper']));
      return undefined;
    }
    const stored = StoredSecret.parse(row);
    const until = Math.min(stored.ends_at ?? Infinity, stored.expires_at ?? Infinity);
    if (stored.revoked_at !== null || time >= until) return undefined;
    const { id, name, workspace } = stored;
    const scopes = new Set(z.array(z.string()).parse(JSON.parse(stored.scopes)));
    const rateLimit =
      stored.rate_limit === null ? undefined : RateLimit.parse(JSON.parse(stored.rate_limit));
    return {
      bytes: Buffer.from(text, 'latin1'),
      key: { id, name, workspace, scopes, rateLimit },
      until,
      touchedAt: stored.last_used_at ?? -Infinity,
    };
  }

  function warn(id: string): void {
    if (warned.has(id)) return;
    warned.add(id);
    logger.error(
      { keyPepper: id, ourPepper: pepper.id },
      'keys in this register were created with another PARLEY_SECRET_KEY or pepper file and cannot be verified: restore the original one, or create new keys with parley keys create',
    );
  }

  function used(entry: Remembered, time: number): void {
    if (time - entry.touchedAt < TOUCH_MS) return;
    entry.touchedAt = time;
    const stored = (async () => register.read(() => TOUCH.run(time, entry.key.id)))();
    stored.catch((error: unknown) =>
      logger.warn({ err: error }, 'failed to store when a key was last used'),
    );
  }

  function current(prefix: string, entry: Remembered, time: number): VerifiedKey | undefined {
    if (time >= entry.until) {
      remembered.delete(prefix);
      return undefined;
    }
    used(entry, time);
    return entry.key;
  }

  /** Returns the key of a row. `seen` is the register's version before the row was read. */
  function found(
    text: string,
    prefix: string,
    row: Row | undefined,
    seen: number,
  ): VerifiedKey | undefined {
    const time = now();
    const entry = opened(text, row, time);
    if (!entry) return undefined;
    // If the register has changed since the read began, the row may be outdated and must not be cached.
    if (seen === register.changed()) remembered.set(prefix, entry);
    return current(prefix, entry, time);
  }

  return (text: string): MaybePromise<VerifiedKey | undefined> => {
    const prefix = prefixOf(text);
    if (prefix === undefined) return undefined;
    const seen = register.changed();
    if (seen !== version) {
      version = seen;
      remembered.clear();
      looking.clear();
    }
    const entry = remembered.get(prefix);
    if (entry && isSecret(text, entry.bytes)) return current(prefix, entry, now());
    // If the prefix is cached but the secret is wrong, the secret is still looked up. So the response time does not
    // reveal whether the prefix exists.
    const known = looking.get(text);
    if (known) return known;
    const row = register.read(() => FIND.get(prefix));
    if (!(row instanceof Promise)) return found(text, prefix, row, seen);
    const look = row
      .then((read) => found(text, prefix, read, seen))
      .finally(() => {
        if (looking.get(text) === look) looking.delete(text);
      });
    looking.set(text, look);
    return look;
  };
}

/** The buffer for the text that is compared with a secret. It is reused, because all secrets have the same length. */
let compared = Buffer.alloc(0);

/** Compares in constant time. A secret has only ASCII characters, so each character is one byte. */
function isSecret(text: string, secret: Buffer): boolean {
  if (compared.length !== secret.length) compared = Buffer.alloc(secret.length);
  return compared.write(text, 'latin1') === text.length && timingSafeEqual(compared, secret);
}

function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
