/** Opens the signing keys of a server, from `--sign-key` or from the data folder. */
import path from 'node:path';
import { systemCode } from '../../base/index.ts';
import {
  openSigningKeys,
  readSigningKeys,
  SigningKeyError,
  type SigningKeys,
} from '../../base/signing/index.ts';
import { dataFolder } from './data-folder.ts';
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

/** Returns the option of `serve` for the keys. It is empty if the server makes a new key for this process. */
export function serverSigning({ file, memory, environment, log }: SigningSetup): {
  readonly signing?: SigningKeys;
} {
  try {
    if (file !== undefined) return { signing: readSigningKeys(file) };
    if (memory) return {};
    return { signing: openSigningKeys(path.join(dataFolder(environment), KEY_FILE)) };
  } catch (error) {
    if (!(error instanceof SigningKeyError)) throw error;
    if (file !== undefined) throw usageError(`--sign-key ${error.message}`, { cause: error });
    if (systemCode(error.cause) === undefined) {
      const next = 'restore the file, or delete it to get a new key';
      throw usageError(`${error.message}; ${next}`, { cause: error });
    }
    log.warn(
      {},
      `webhooks are signed with a key that changes at every start, because the data folder cannot be used (${error.message}): set PARLEY_HOME to a folder that this user may write, or set --sign-key`,
    );
    return {};
  }
}
