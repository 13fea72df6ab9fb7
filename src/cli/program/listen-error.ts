/** Why a port could not be had, and what to do. */
import { systemCode } from '../../base/index.ts';
import { usageError } from './exit.ts';

export function explainListen(
  error: unknown,
  host: string,
  port: number,
  flag: '--port' | '--a2a-port',
): unknown {
  switch (systemCode(error)) {
    case 'EADDRINUSE':
      return usageError(
        `port ${port} is in use: stop what uses it, or choose another with ${flag} (0 picks a free one)`,
        { cause: error },
      );
    case 'EACCES':
      return usageError(
        `port ${port} needs rights that this user does not have: choose one above 1023 with ${flag}`,
        { cause: error },
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return usageError(
        `${host} is no address of this machine: use 127.0.0.1 for this machine alone, or 0.0.0.0`,
        { cause: error },
      );
    default:
      return error;
  }
}
