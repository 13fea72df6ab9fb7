/** Converts errors of the catalogue to gRPC statuses, with google.rpc details. */
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { isObject } from '../base/index.ts';
import { type A2AError, errorDetails, ERRORS } from '../protocol/index.ts';
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

/** Returns the gRPC status of an error. Its details are those of the REST binding of 1.0. */
export function grpcError(error: A2AError): ConnectError {
  const { status } = ERRORS[error.kind];
  const code =
    error.kind === 'tooLarge' ? Code.ResourceExhausted : (CODES[status] ?? Code.Internal);
  const metadata: Record<string, string> = {};
  const { retryAfterSeconds } = error.detail;
  if (retryAfterSeconds !== undefined) metadata['retry-after'] = String(retryAfterSeconds);
  if (error.kind === 'unauthenticated') metadata['www-authenticate'] = 'Bearer';
  return new ConnectError(error.message, code, metadata, detailsOf(error));
}

const TYPE = 'type.googleapis.com/';

/** Returns the details that have a schema here. A gateway also forwards details of remote peers. */
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
