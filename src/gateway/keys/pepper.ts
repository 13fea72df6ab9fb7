/**
 * The pepper: the secret that API keys are hashed with. It is not stored in the register, so the register alone is not
 * enough to use a key or to test a guess.
 *
 * With PARLEY_SECRET_KEY the pepper is derived from that value. The value may be a passphrase, and the register stores
 * the pepper's fingerprint. Therefore the derivation is slow on purpose (about 50 ms, once), so that passphrases cannot
 * be tried quickly. Without PARLEY_SECRET_KEY the pepper is a random file next to the register, `REGISTER.pepper`. Back
 * it up together with the register, but give access to it separately.
 *
 * If the pepper is lost or PARLEY_SECRET_KEY changes, existing keys no longer match. They are listed as `unusable`, and
 * the log has one line about it. Restore the pepper, or create new keys.
 */
import { createHmac, randomBytes, scryptSync } from 'node:crypto';
import { reasonOf, systemCode } from '../../base/index.ts';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { StoreError } from '../../store/index.ts';
import type { Register } from '../register/register.ts';

const PEPPER_BYTES = 32;
const FINGERPRINT_CHARS = 16;

export interface Pepper {
  /** The pepper's fingerprint, stored with each key. */
  readonly id: string;
  hash(token: string): Buffer;
}

export interface PepperOptions {
  readonly register: Register;
  /** The register's file. Undefined: the register and the pepper are in memory. */
  readonly path?: string | undefined;
  /** PARLEY_SECRET_KEY. */
  readonly secretKey?: string | undefined;
}

/** Throws a StoreError with a one-line message. */
export function openPepper({ register, path, secretKey }: PepperOptions): Pepper {
  if (secretKey !== undefined && secretKey !== '') {
    return pepperOf(scryptSync(secretKey, saltOf(register), PEPPER_BYTES));
  }
  if (path === undefined) return pepperOf(randomBytes(PEPPER_BYTES));
  return pepperOf(fromFile(register, `${path}.pepper`));
}

function pepperOf(secret: Uint8Array): Pepper {
  const hash = (text: string) => createHmac('sha256', secret).update(text).digest();
  return { id: hash('parley pepper').toString('hex').slice(0, FINGERPRINT_CHARS), hash };
}

/** The register's salt, for secrets derived from PARLEY_SECRET_KEY. */
export function saltOf(register: Register): Uint8Array {
  const row = register.read(() => register.db.prepare('SELECT salt FROM key_salt').get());
  if (row?.['salt'] instanceof Uint8Array) return row['salt'];
  throw new StoreError('the register has no salt for its keys: restore it from a backup');
}

/** The first process creates the file. The register's write lock prevents a second process from creating another. */
function fromFile(register: Register, file: string): Buffer {
  const there = read(file);
  if (there) return there;
  return register.transaction(() => read(file) ?? make(file));
}

function read(file: string): Buffer | undefined {
  let secret: Buffer;
  try {
    secret = readFileSync(file);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw cannot('read', file, error);
  }
  if (secret.length === PEPPER_BYTES) return secret;
  throw new StoreError(`${file} is not a valid pepper file`, {
    hint: 'Restore it from a backup, or delete it and create all keys again.',
  });
}

/** Atomic: the file is complete or absent, even after a power failure. */
function make(file: string): Buffer {
  const secret = randomBytes(PEPPER_BYTES);
  const draft = `${file}.new`;
  try {
    const descriptor = openSync(draft, 'w', 0o600);
    try {
      writeSync(descriptor, secret);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, file);
  } catch (error) {
    throw cannot('write', file, error);
  }
  return secret;
}

function cannot(what: string, file: string, error: unknown): StoreError {
  return new StoreError(`cannot ${what} ${file}: ${reasonOf(error)}`, {
    hint: 'This user needs write access to the folder.',
    cause: error,
  });
}
