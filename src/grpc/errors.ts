/** Converts errors of the catalogue (protocol/errors.ts) to gRPC statuses, with google.rpc details. */
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { isObject } from '../base/index.ts';
import {
  type A2AError,
  errorDetails,
  type ErrorKind,
  ERRORS,
  type ProtocolVersion,
} from '../protocol/index.ts';
import { registry } from './codec/index.ts';

const CODES: Readonly<Record<string, Code>> = {
  INVALID_ARGUMENT: Code.InvalidArgument,
  NOT_FOUND: Code.NotFound,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  INTERNAL: Code.Internal,
  UNAUTHENTICATED: Code.Unauthenticated,
  PERMISSION_DENIED: Code.PermissionDenied,
  UNIMPLEMENTED: Code.Unimplemented,
  ABORTED: Code.Aborted,
  UNAVAILABLE: Code.Unavailable,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
};

/** The errors for which clients of 0.3 expect another gRPC status than clients of 1.0. */
const UNIMPLEMENTED_IN_03: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'pushNotSupported',
  'unsupportedOperation',
]);

/** Returns the gRPC status of an error. Its details are those of the REST binding of 1.0. */
export function grpcError(error: A2AError, version?: ProtocolVersion): ConnectError {
  const code = codeOf(error.kind, version);
  const metadata: Record<string, string> = {};
  const { retryAfterSeconds } = error.detail;
  if (retryAfterSeconds !== undefined) metadata['retry-after'] = String(retryAfterSeconds);
  if (error.kind === 'unauthenticated') metadata['www-authenticate'] = 'Bearer';
  // connect cannot encode half a surrogate pair.
  return new ConnectError(error.message.toWellFormed(), code, metadata, detailsOf(error));
}

function codeOf(kind: ErrorKind, version: ProtocolVersion | undefined): Code {
  if (kind === 'tooLarge') return Code.ResourceExhausted;
  if (version === '0.3' && UNIMPLEMENTED_IN_03.has(kind)) return Code.Unimplemented;
  return CODES[ERRORS[kind].status] ?? Code.Internal;
}

const TYPE = 'type.googleapis.com/';

/**
 * Returns the details whose protobuf schema is known. A gateway also forwards details of remote peers, and their schema
 * may be unknown.
 */
function detailsOf(error: A2AError) {
  return errorDetails(error, true).flatMap((detail) => {
    if (!isObject(detail)) return [];
    const { '@type': type, ...fields } = detail;
    const desc =
      typeof type === 'string' && type.startsWith(TYPE)
        ? registry.getMessage(type.slice(TYPE.length))
        : undefined;
    if (!desc) return [];
    try {
      const value = fromJson(desc, fields as JsonValue, { ignoreUnknownFields: true });
      return [{ desc, value }];
    } catch {
      return [];
    }
  });
}
