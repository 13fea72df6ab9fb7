/**
 * Encrypts secrets at rest with AES-256-GCM.
 *
 * The operator can provide the key (PARLEY_SECRET_KEY). Without such a key, a random key is stored in the key file, if
 * one is configured. This file is created when the first secret is encrypted. Secrets can also be decrypted with older
 * keys, so that a new key can be introduced without losing secrets. Older keys are the operator's previous key, and all
 * keys in the file that are not used to encrypt.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scryptSync } from 'node:crypto';
import { reasonOf } from '../base/index.ts';
import { readOrCreateSecret, readSecret } from '../base/files/index.ts';
import { StoreError } from '../base/sqlite/index.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
/** The form of random keys in the key file: at least 32 bytes in base64 or base64url. */
const RANDOM_KEY = /^[\w+/-]{43,}=*$/;

/** The sources of the keys for secrets at rest. */
export interface SecretKeyOptions {
  /** The operator's key. It may be a passphrase. */
  readonly secretKey?: string | undefined;
  /** The operator's previous key, which is used only to decrypt. */
  readonly previousSecretKey?: string | undefined;
  /**
   * A file with a key per line. Without `secretKey`, the key in the first line is used to encrypt, and the file is
   * created if it does not exist. All keys in the file are used to decrypt.
   */
  readonly secretKeyFile?: string | undefined;
}

/** A key for secrets at rest. */
interface SecretKey {
  readonly text: string;
  /**
   * Whether the key is in the key file and has the form of a random key. Every other key is treated as a passphrase,
   * even if it is random.
   */
  readonly isRandom: boolean;
}

/** A key for decryption. */
interface DecryptionKey extends SecretKey {
  /** Whether the key is used only to decrypt. */
  readonly isOld: boolean;
}

/** Returns the keys of the operator and of the key file. The file is not opened before a key is needed. */
export function secretKeys(options: SecretKeyOptions) {
  const { secretKey, previousSecretKey, secretKeyFile: file } = options;
  let inFile: readonly SecretKey[] = [];

  function fileKeys(create: boolean): readonly SecretKey[] {
    if (file === undefined || inFile.length > 0) return inFile;
    try {
      const make = () => `${randomBytes(KEY_BYTES).toString('base64url')}\n`;
      inFile = linesOf(create ? readOrCreateSecret(file, make) : readSecret(file));
    } catch (error) {
      const action = create ? 'read or create' : 'read';
      throw new StoreError(`cannot ${action} ${file}: ${reasonOf(error)}`, {
        hint: 'set PARLEY_SECRET_KEY, or give this user access to the file and its folder',
        cause: error,
      });
    }
    return inFile;
  }

  return {
    /**
     * Returns the key for encryption, and creates it if needed. Throws a StoreError if there is no key and none can be
     * created.
     */
    current(): SecretKey {
      const [key] = secretKey ? [{ text: secretKey, isRandom: false }] : fileKeys(true);
      if (key) return key;
      throw file === undefined
        ? new StoreError('there is no key for secrets', { hint: 'set PARLEY_SECRET_KEY' })
        : new StoreError(`${file} has no key`, {
            hint: 'restore it from a backup; if you delete it, a new key is created, and stored secrets are lost',
          });
    },
    /** Returns all keys for decryption. Throws a StoreError if the key file cannot be read. */
    all(): readonly DecryptionKey[] {
      const given = (text: string | undefined, isOld: boolean) =>
        text ? [{ text, isRandom: false, isOld }] : [];
      const ofFile = fileKeys(false).map(({ text, isRandom }, at) => {
        return { text, isRandom, isOld: Boolean(secretKey) || at > 0 };
      });
      return [...given(secretKey, false), ...given(previousSecretKey, true), ...ofFile];
    },
  };
}

function linesOf(content: Buffer | undefined): SecretKey[] {
  const lines = String(content ?? '').split('\n');
  return lines.flatMap((line) => {
    const text = line.trim();
    return text === '' ? [] : [{ text, isRandom: RANDOM_KEY.test(text) }];
  });
}

/** The result of `SecretBox.openAny`. */
export interface OpenedSecret {
  readonly text: string;
  /** Whether the secret was encrypted with an older key. Encrypt it again, so that the older key can be removed. */
  readonly isOld: boolean;
}

export class SecretBox {
  readonly #keys: ReturnType<typeof secretKeys>;
  readonly #salt: Uint8Array;
  readonly #derived = new Map<string, Uint8Array>();

  constructor(keys: ReturnType<typeof secretKeys>, salt: Uint8Array) {
    this.#keys = keys;
    this.#salt = salt;
  }

  /** Whether there is an older key. Throws a StoreError if the key file cannot be read. */
  get hasOldKeys(): boolean {
    return this.#keys.all().some(({ isOld }) => isOld);
  }

  /**
   * Encrypts a text. The result consists of the nonce, the tag and the ciphertext. `place` says where the result is
   * stored. The result can be decrypted only with the same `place`, so it cannot be moved. Throws a StoreError if there
   * is no key.
   */
  seal(text: string, place: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const key = this.#derive(this.#keys.current());
    const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /**
   * Decrypts a text. Returns undefined if it is damaged, or was encrypted with an unknown key or another `place`.
   * Throws a StoreError if the key file cannot be read.
   */
  open(sealed: Uint8Array, place: string): string | undefined {
    return this.openAny(sealed, place)?.text;
  }

  /** Decrypts like `open`. The result also says whether the text was encrypted with an older key. */
  openAny(sealed: Uint8Array, place: string): OpenedSecret | undefined {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
    for (const key of this.#keys.all()) {
      const text = decrypt(this.#derive(key), sealed, place);
      if (text !== undefined) return { text, isOld: key.isOld };
    }
    return undefined;
  }

  /**
   * Derives the encryption key. Derivation from a passphrase is deliberately slow (about 50 ms), so that an attacker
   * cannot try many passphrases.
   */
  #derive({ text, isRandom }: SecretKey): Uint8Array {
    const name = `${isRandom} ${text}`;
    const known = this.#derived.get(name);
    if (known) return known;
    const salt = this.#salt;
    const derived = isRandom ? fromRandom(text, salt) : scryptSync(text, salt, KEY_BYTES);
    this.#derived.set(name, derived);
    return derived;
  }
}

function fromRandom(key: string, salt: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, salt, 'parley secrets', KEY_BYTES));
}

function decrypt(key: Uint8Array, sealed: Uint8Array, place: string): string | undefined {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(place));
  decipher.setAuthTag(tag);
  const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
