/**
 * Encrypts the webhooks of a store, because their URLs, tokens and credentials may be secret.
 *
 * If there is no key, a webhook with a token or credentials is refused, and other webhooks are stored in plain text. A
 * webhook whose key is missing cannot be read. It is skipped and logged, and works again when the store is opened with
 * this key.
 */
import { reasonOf, StoreError } from '../base/index.ts';
import { A2AError } from '../protocol/index.ts';
import type { Logger, PushRecord } from '../tasks/index.ts';
import type { SecretBox } from './secrets.ts';

export class WebhookSecrets {
  readonly #secrets: SecretBox;
  readonly #logger: Logger;

  constructor(secrets: SecretBox, logger: Logger) {
    this.#secrets = secrets;
    this.#logger = logger;
  }

  /** Whether there is a key besides the current one. Throws a StoreError if the key file cannot be read. */
  get hasOldKeys(): boolean {
    return this.#secrets.hasOldKeys;
  }

  /** Returns the encrypted webhook, or its JSON if there is no key and the webhook has no secrets. */
  seal(taskId: string, config: PushRecord['config']): Uint8Array | string {
    const json = JSON.stringify(config);
    try {
      return this.#secrets.seal(json, place(taskId, config.id));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if ((config.token ?? config.authentication?.credentials) === undefined) return json;
      // Only the log contains the reason, because a client must not see the path of the key file.
      this.#logger.error(
        { err: error },
        `cannot encrypt the secrets of a webhook: ${error.hint ?? ''}`,
      );
      throw new A2AError(
        'invalidParams',
        'This server has no key to store secrets: omit the token and the credentials of the webhook, or ask the operator to set PARLEY_SECRET_KEY',
      );
    }
  }

  /** Returns the JSON of an encrypted webhook. If it cannot be decrypted, logs this and returns undefined. */
  open(sealed: Uint8Array, taskId: string, configId: string): string | undefined {
    let reason = 'it was stored with another key';
    try {
      const json = this.#secrets.open(sealed, place(taskId, configId));
      if (json !== undefined) return json;
    } catch (error) {
      reason = reasonOf(error);
    }
    this.#logger.error(
      { taskId, configId },
      `skipped a webhook, because its secrets cannot be read (${reason}): set PARLEY_SECRET_KEY to the key with which it was stored, or restore the key file`,
    );
    return undefined;
  }

  /** Encrypts a webhook again if it was encrypted with an older key. Otherwise returns undefined. */
  resealed(sealed: Uint8Array, taskId: string, configId: string): Uint8Array | undefined {
    const opened = this.#secrets.openAny(sealed, place(taskId, configId));
    return opened?.isOld ? this.#secrets.seal(opened.text, place(taskId, configId)) : undefined;
  }
}

/** Returns the `place` with which a webhook is encrypted. */
function place(taskId: string, configId: string): string {
  return `push ${JSON.stringify([taskId, configId])}`;
}
