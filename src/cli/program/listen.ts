/** Parses the address of a server, and listens on it. */
import type { Listening } from '../../server.ts';
import { systemCode } from '../../base/index.ts';
import { usageError } from './exit.ts';
import { wholeNumber } from './flags.ts';

export const DEFAULT_HOST = '127.0.0.1';

/** Parses a flag's value as a port number. */
export function portNumber(flag: '--port' | '--a2a-port', text: string): number {
  return wholeNumber(flag, text, { min: 0, max: 65_535 });
}

interface Address {
  readonly host: string;
  readonly port: number;
  readonly flag: '--port' | '--a2a-port' | '--grpc-port';
}

/** Listens on the address. Reports a port in use, and similar problems, in one line with advice. */
export async function listenOn(
  server: { listen(port: number, host: string): Promise<Listening> },
  { host, port, flag }: Address,
): Promise<Listening> {
  try {
    return await server.listen(port, host);
  } catch (error) {
    const line = listenProblem(systemCode(error), failedAddress(error, { host, port, flag }));
    throw line === undefined ? error : usageError(line, { cause: error });
  }
}

/** Returns the address that could not be used. If its port differs from the server's, it is the address of gRPC. */
function failedAddress(error: unknown, address: Address): Address {
  const port: unknown = error instanceof Error ? Reflect.get(error, 'port') : undefined;
  return typeof port !== 'number' || port === address.port
    ? address
    : { ...address, port, flag: '--grpc-port' };
}

function listenProblem(
  code: string | undefined,
  { host, port, flag }: Address,
): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is in use: stop the program that uses it, or choose another port with ${flag} (0 picks a free one)`;
    case 'EACCES':
      return `no permission to use port ${port}: choose a port above 1023 with ${flag}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine: use 127.0.0.1 (this machine only) or 0.0.0.0 (all interfaces)`;
    default:
      return undefined;
  }
}
