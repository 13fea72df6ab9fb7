/**
 * The pepper is a secret that is needed to hash API keys. It is not stored in the register (the gateway's database). So
 * the register alone is not enough to use a key, or to check whether a guessed key is correct.
 *
 * If PARLEY_SECRET_KEY is set, the pepper is derived from it. The derivation is deliberately slow (about 50 ms, once).
 * With a fast derivation, an attacker who has the register could quickly try passphrases and compare the results with
 * the pepper's fingerprint. If PARLEY_SECRET_KEY is not set, the pepper is a file with random bytes next to the
 * register, `REGISTER.pepper`. Back up this file together with the register, but grant access to it separately.
 *
 * If the pepper is lost or PARLEY_SECRET_KEY changes, existing keys cannot be verified. They are listed as `unusable`,
 * and a line in the log reports the problem. Restore the pepper, or create new keys.
 */
import { createHmac, randomBytes, scryptSync } from 'node:crypto';
import { reasonOf } from '../../base/index.ts';
import { readOrCreateSecret } from '../../base/files/index.ts';
import { StoreError } from '../../store/index.ts';
import type { Register } from '../register/register.ts';

const PEPPER_BYTES = 32;
const FINGERPRINT_CHARS = 16;

export interface Pepper {
  /** The pepper's fingerprint, stored with the hash of each secret. */
  readonly id: string;
  hash(token: string): Buffer;
}

export interface PepperOptions {
  readonly register: Pick<Register, 'salt'>;
  /** The register's file. If undefined, the register and the pepper are in memory. */
  readonly path?: string | undefined;
  /** The value of PARLEY_SECRET_KEY, or undefined if it is not set. */
  readonly secretKey?: string | undefined;
}

/** Reads or creates the pepper. Throws a StoreError if this fails. */
export function openPepper({ register, path, secretKey }: PepperOptions): Pepper {
  if (secretKey !== undefined && secretKey !== '') {
    return pepperOf(scryptSync(secretKey, register.salt, PEPPER_BYTES));
  }
  if (path === undefined) return pepperOf(randomBytes(PEPPER_BYTES));
  return pepperOf(fromFile(`${path}.pepper`));
}

function pepperOf(secret: Uint8Array): Pepper {
  const hash = (text: string) => createHmac('sha256', secret).update(text).digest();
  return { id: hash('parley pepper').toString('hex').slice(0, FINGERPRINT_CHARS), hash };
}

function fromFile(file: string): Buffer {
  let secret: Buffer;
  try {
    secret = readOrCreateSecret(file, () => randomBytes(PEPPER_BYTES));
  } catch (error) {
    throw new StoreError(`cannot read or create ${file}: ${reasonOf(error)}`, {
      hint: 'this user needs access to the file and write access to its folder',
      cause: error,
    });
  }
  if (secret.length === PEPPER_BYTES) return secret;
  throw new StoreError(`${file} is not a valid pepper file`, {
    hint: 'restore it from a backup, or delete it and create all keys again',
  });
}
