/** gRPC for the server commands. Its packages are loaded with the first gRPC request, so that servers start faster. */
import { reasonOf } from '../../base/index.ts';
import type { GrpcBinding, GrpcHandler, ServeOptions } from '../../server.ts';
import { usageError } from './exit.ts';
import { option, toggle, type Values, wholeNumber } from './flags.ts';

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
  return { grpc, grpcPort: wholeNumber('--grpc-port', port, { min: 0, max: 65_535 }) };
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
