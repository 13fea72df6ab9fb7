/** Opens the signing keys of a server, from `--sign-key` or from the data folder. */
import path from 'node:path';
import { isExposed } from '../../base/files/index.ts';
import { systemCode } from '../../base/index.ts';
import {
  openSigningKeys,
  readSigningKeys,
  SigningKeyError,
  type SigningKeys,
} from '../../base/signing/index.ts';
import { dataFolder } from './folders.ts';
import { usageError } from './exit.ts';
import type { Environment } from './flags.ts';
import type { ServerLog } from './log.ts';

const KEY_FILE = 'signing-key.pem';

export interface SigningSetup {
  /** The value of `--sign-key`. */
  readonly file?: string | undefined;
  /** Whether the server keeps its tasks in memory. If so, and without `file`, the key is not stored either. */
  readonly memory: boolean;
  readonly environment: Environment;
  readonly log: ServerLog;
}

/** Returns the `signing` option of `serve`. The result is empty if the server makes a new key for this process. */
export function serverSigning({ file, memory, environment, log }: SigningSetup): {
  readonly signing?: SigningKeys;
} {
  const used = (keyFile: string, signing: SigningKeys) => {
    if (isExposed(keyFile)) {
      log.warn(
        {},
        `other users have access to ${keyFile}, which has the private key of this server: run chmod 600 ${keyFile}`,
      );
    }
    return { signing };
  };
  try {
    if (file !== undefined) return used(file, readSigningKeys(file));
    if (memory) return {};
    const own = path.join(dataFolder(environment), KEY_FILE);
    return used(own, openSigningKeys(own));
  } catch (error) {
    if (!(error instanceof SigningKeyError)) throw error;
    if (file !== undefined) throw usageError(`--sign-key ${error.message}`, { cause: error });
    if (systemCode(error.cause) === undefined) {
      const next = 'restore the file, or delete it to get a new key';
      throw usageError(`${error.message}; ${next}`, { cause: error });
    }
    log.warn(
      {},
      `the signing key cannot be read or created (${error.message}). This start uses a new key. It signs webhooks, but no cards, so clients that verify the card refuse it: set PARLEY_HOME to a folder that this user may write, or set --sign-key`,
    );
    return {};
  }
}
