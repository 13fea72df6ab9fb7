/** Encrypts secrets at rest with AES-256-GCM. The key is derived from the operator's key. */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class SecretBox {
  readonly #key: Uint8Array;

  /** The operator's key may be a passphrase, so the derivation is deliberately slow (about 50 ms, once). */
  constructor(secretKey: string, salt: Uint8Array) {
    this.#key = scryptSync(secretKey, salt, 32);
  }

  /**
   * Encrypts a text. The result has the nonce, the tag and the ciphertext. It can be decrypted only with the same
   * `place`.
   */
  seal(text: string, place: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /** Decrypts a text. Returns undefined if it is damaged, or was encrypted with another key or place. */
  open(sealed: Uint8Array, place: string): string | undefined {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(place));
    decipher.setAuthTag(tag);
    const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
    try {
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      return undefined;
    }
  }
}
