/**
 * Encrypts the webhooks of a store, because their URLs, tokens and credentials may be secret. If a request to another
 * node contains a webhook, the request is encrypted in the same way.
 *
 * If there is no key, a webhook with a token or credentials is refused, and other webhooks are stored in plain text. A
 * key file that cannot be read or created counts as no key. A webhook whose key is missing cannot be read. It is
 * skipped and logged, and works again when the store is opened with this key.
 */
import { reasonOf, StoreError, type MaybePromise } from '../base/index.ts';
import { A2AError, type PushNotificationConfig } from '../protocol/index.ts';
import type { Logger, PushRecord } from '../tasks/index.ts';
import type { SecretBox } from './secrets.ts';

export class WebhookSecrets {
  readonly #secrets: SecretBox;
  readonly #logger: Logger;

  constructor(secrets: SecretBox, logger: Logger) {
    this.#secrets = secrets;
    this.#logger = logger;
  }

  /**
   * Returns the encrypted webhook, or its JSON if there is no key and the webhook has no token and no credentials.
   * Throws `invalidParams` if there is no key and the webhook has a token or credentials.
   */
  seal(taskId: string, config: PushRecord['config']): Uint8Array | string {
    return this.#seal(JSON.stringify(config), place(taskId, config.id), hasSecrets(config));
  }

  /** Throws `invalidParams` if there is no key and the webhook has a token or credentials. */
  check(config: PushNotificationConfig): void {
    if (hasSecrets(config)) this.#seal('', '', true);
  }

  /**
   * Returns the encrypted request to a node, or its text if there is no key and `hasSecrets` is false. Throws
   * `invalidParams` if there is no key and `hasSecrets` is true.
   */
  sealRequest(request: string, node: string, hasSecrets: boolean): Uint8Array | string {
    return this.#seal(request, requestPlace(node), hasSecrets);
  }

  /** Returns the text of an encrypted request to a node. If it cannot be decrypted, logs this and returns undefined. */
  openRequest(sealed: Uint8Array, node: string): string | undefined {
    return this.#open(sealed, requestPlace(node), 'the other node has another key', (reason) =>
      this.#logger.error(
        {},
        `cannot read a message from another node (${reason}): set the same PARLEY_SECRET_KEY on all nodes`,
      ),
    );
  }

  #seal(text: string, where: string, hasSecrets: boolean): Uint8Array | string {
    try {
      return this.#secrets.seal(text, where);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (!hasSecrets) return text;
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
    return this.#open(sealed, place(taskId, configId), 'it was stored with another key', (reason) =>
      this.#logger.error(
        { taskId, configId },
        `skipped a webhook, because its secrets cannot be read (${reason}): set PARLEY_SECRET_KEY to the key with which it was stored, or restore the key file`,
      ),
    );
  }

  #open(
    sealed: Uint8Array,
    where: string,
    otherKey: string,
    report: (reason: string) => void,
  ): string | undefined {
    let reason = otherKey;
    try {
      const text = this.#secrets.open(sealed, where);
      if (text !== undefined) return text;
    } catch (error) {
      reason = reasonOf(error);
    }
    report(reason);
    return undefined;
  }

  /**
   * Runs `work` if there are older keys. `work` must call `resealed` for each webhook of the store, store the results,
   * and return the number of changed webhooks. Logs failures, and never rejects.
   */
  async reseal(work: () => MaybePromise<number>): Promise<void> {
    try {
      const changed = this.#secrets.hasOldKeys ? await work() : 0;
      if (changed === 0) return;
      this.#logger.info({ webhooks: changed }, 'encrypted webhooks with the new key');
    } catch (error) {
      this.#logger.error({ err: error }, 'failed to encrypt webhooks with the new key');
    }
  }

  /**
   * Encrypts a webhook again with the current key. Returns undefined if it is already encrypted with this key, or if it
   * cannot be decrypted.
   */
  resealed(sealed: Uint8Array, taskId: string, configId: string): Uint8Array | undefined {
    const opened = this.#secrets.openAny(sealed, place(taskId, configId));
    return opened?.isOld ? this.#secrets.seal(opened.text, place(taskId, configId)) : undefined;
  }
}

function hasSecrets({ token, authentication }: PushNotificationConfig): boolean {
  return (token ?? authentication?.credentials) !== undefined;
}

/** Returns the `place` of a webhook for `SecretBox.seal`. */
function place(taskId: string, configId: string): string {
  return `push ${JSON.stringify([taskId, configId])}`;
}

function requestPlace(node: string): string {
  return `request ${node}`;
}
