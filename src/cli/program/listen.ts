/**
 * Parses the port of a server, and listens on its address. Also has the flags of gRPC. The packages of gRPC are loaded
 * with the first gRPC request, so that servers start faster.
 */
import { reasonOf, systemCode } from '../../base/index.ts';
import type { GrpcBinding, GrpcHandler, Listening, ServeOptions } from '../../server.ts';
import { usageError } from './exit.ts';
import { option, toggle, type Values, wholeNumber } from './flags.ts';

export const DEFAULT_HOST = '127.0.0.1';

type PortFlag = '--port' | '--a2a-port' | '--grpc-port';

/** Parses a flag's value as a port number. */
export function portNumber(flag: PortFlag, text: string): number {
  return wholeNumber(flag, text, { min: 0, max: 65_535 });
}

/** Listens on the address. Reports a port in use, and similar problems, in one line with advice. */
export async function listenOn(
  server: { listen(port: number, host: string): Promise<Listening> },
  { host, port, flag }: { readonly host: string; readonly port: number; readonly flag: PortFlag },
): Promise<Listening> {
  try {
    return await server.listen(port, host);
  } catch (error) {
    const failed: unknown = error instanceof Error ? Reflect.get(error, 'port') : undefined;
    // A port that differs from the server's is the port of gRPC.
    const isOther = typeof failed === 'number' && failed !== port;
    const code = systemCode(error);
    const line = isOther
      ? listenProblem(code, host, failed, '--grpc-port')
      : listenProblem(code, host, port, flag);
    throw line === undefined ? error : usageError(line, { cause: error });
  }
}

function listenProblem(
  code: string | undefined,
  host: string,
  port: number,
  flag: PortFlag,
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

export const GRPC_FLAGS = {
  'grpc-port': option(
    'N',
    'Serve gRPC on a port of its own. 0 picks a free port. By default, gRPC and HTTP share a port.',
  ),
  'no-grpc': toggle('Do not serve gRPC.'),
} as const;

/** Returns the options of the server for the flags. */
export function grpcOptions(
  values: Values<typeof GRPC_FLAGS>,
): Pick<ServeOptions, 'grpc' | 'grpcPort'> {
  const { 'grpc-port': port, 'no-grpc': off } = values;
  if (off && port !== undefined) {
    throw usageError('--grpc-port and --no-grpc contradict each other: remove one of them');
  }
  if (off) return {};
  const grpc = lazyGrpc();
  if (port === undefined) return { grpc };
  return { grpc, grpcPort: portNumber('--grpc-port', port) };
}

export function lazyGrpc(): GrpcBinding {
  return {
    handlerFor(context) {
      let loading: Promise<GrpcHandler> | undefined;
      return (request, response) => {
        loading ??= import('../../grpc.ts').then(({ grpcBinding }) =>
          grpcBinding().handlerFor(context),
        );
        loading.then(
          (handler) => {
            if (!response.stream.destroyed) handler(request, response);
          },
          (error: unknown) => {
            context.app.logger.error({ problem: reasonOf(error) }, 'failed to load gRPC');
            response.destroy();
          },
        );
      };
    },
  };
}
