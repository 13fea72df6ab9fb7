/** The gRPC binding. The packages that it needs are loaded with this module. */
import { optionalPackage } from '../base/index.ts';
import type { GrpcBinding } from '../http/index.ts';

// The packages are loaded before the modules that import them, so that the error for a missing package says what to
// install.
await optionalPackage('@bufbuild/protobuf', 'gRPC', () => import('@bufbuild/protobuf'));
await optionalPackage('@connectrpc/connect', 'gRPC', () => import('@connectrpc/connect'));
const binding = await import('./binding.ts');

/** Makes the gRPC binding of a server, for the option `grpc` of `serve`. */
export const grpcBinding: () => GrpcBinding = binding.grpcBinding;
