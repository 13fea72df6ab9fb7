/**
 * The pepper: the secret under which keys are hashed, kept apart from the register, so that whoever reads the register
 * alone can neither use a key nor test a guess.
 *
 * With PARLEY_SECRET_KEY it is derived from that. The key may be a passphrase, and the register holds the pepper's
 * fingerprint, so deriving it is made slow on purpose (some 50 ms, once): nobody tests passphrases quickly. Without it,
 * it is a random file beside the register, `REGISTER.pepper`, that belongs in the same backup but not in the same hands.
 *
 * When it is lost, or PARLEY_SECRET_KEY changes, the keys of before match nothing any more: they are shown as `unusable`,
 * one line in the log says so, and new ones have to be made, unless the old PARLEY_SECRET_KEY or the file is restored.
 */
import { createHmac, randomBytes, scryptSync } from 'node:crypto';
import { reasonOf } from '../../base/index.ts';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { StoreError } from '../../store/index.ts';
import type { Register } from '../register/register.ts';

const PEPPER_BYTES = 32;
const FINGERPRINT_CHARS = 16;

export interface Pepper {
  /** Its fingerprint, which is stored with each key. */
  readonly id: string;
  hash(token: string): Buffer;
}

export interface PepperOptions {
  readonly register: Register;
  /** The register's file; undefined: it is in memory, and so is the pepper. */
  readonly path?: string | undefined;
  /** PARLEY_SECRET_KEY. */
  readonly secretKey?: string | undefined;
}

/** Throws a StoreError in one line. */
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

/** For what is derived from PARLEY_SECRET_KEY. */
export function saltOf(register: Register): Uint8Array {
  const row = register.read(() => register.db.prepare('SELECT salt FROM key_salt').get());
  if (row?.['salt'] instanceof Uint8Array) return row['salt'];
  throw new StoreError('the register has lost the salt of its keys');
}

/** Whoever is first makes it. The register's write lock keeps other processes from making another meanwhile. */
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
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw cannot('read', file, error);
  }
  if (secret.length === PEPPER_BYTES) return secret;
  throw new StoreError(`${file} is not the pepper of a register`, {
    hint: 'Restore it from a backup, or remove it: then all keys have to be made anew.',
  });
}

/** Under its name it is whole or not there, also after a power cut. */
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
    hint: 'The folder must be one that this user may write to.',
    cause: error,
  });
}
