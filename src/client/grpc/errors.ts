/** Converts gRPC statuses and failed connections to the errors that the client throws over every binding. */
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { AddressError } from '../../base/net/index.ts';
import { httpStatusOf, registry } from '../../grpc/codec/index.ts';
import { A2AError, type ErrorSubject, v1 } from '../../protocol/index.ts';
import { notPublic } from '../connection/discover.ts';
import { ConnectionError, RemoteAgentError } from '../connection/errors.ts';
import { withRetryAfter } from '../connection/request.ts';

/**
 * Patterns for the messages of errors that the library Connect throws. HTTP_ERROR is for a response with an HTTP error
 * status, MALFORMED for a response that is not valid gRPC.
 */
const HTTP_ERROR = /^HTTP (\d{3})$/;
const MALFORMED =
  /^(?:parse binary: |unsupported |received compressed |protocol error: (?:received|missing output) )/;

/** Returns the error of a failed call. `sent` is true if the request may have reached the agent. */
export function errorOfCall(
  error: unknown,
  url: string,
  subject: ErrorSubject | undefined,
  sent: boolean,
): Error {
  const connectError = ConnectError.from(error);
  if (connectError.isWireError) return errorOfStatus(connectError, subject);
  const limit = causeOf(error, RemoteAgentError);
  if (limit) return limit;
  const invalid = causeOf(error, A2AError);
  if (invalid) return unusable(invalid.message);
  if (causeOf(error, AddressError)) return notPublic(new URL(url).origin, error);
  const { rawMessage, metadata } = connectError;
  const [, status] = HTTP_ERROR.exec(rawMessage) ?? [];
  if (status !== undefined) {
    // The response may come from a proxy, for example. The error is the same as over HTTP.
    const answered = { message: `The agent answered HTTP ${status}` };
    return withRetryAfter(v1.decodeError(answered, Number(status)), { headers: metadata });
  }
  if (MALFORMED.test(rawMessage)) return unusable(rawMessage);
  return sent
    ? new ConnectionError('broken', `the connection to ${url} broke`, { cause: error })
    : new ConnectionError('unreachable', `cannot reach ${url}: ${rawMessage}`, { cause: error });
}

function unusable(why: string): A2AError {
  return new A2AError('invalidAgentResponse', `The agent's response is unusable: ${why}`);
}

/** Returns the first error of this class among the error and its causes, or undefined if there is none. */
function causeOf<Found extends Error>(
  error: unknown,
  wanted: abstract new (...args: never[]) => Found,
): Found | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof wanted) return inner;
  }
  return undefined;
}

/** Returns the error that the agent has sent. */
function errorOfStatus(error: ConnectError, subject: ErrorSubject | undefined): A2AError {
  const details = detailsOf(error);
  const raw = { message: error.rawMessage, ...(details.length > 0 && { details }) };
  const decoded = v1.decodeError(raw, statusOf(error.code, subject), subject);
  return withRetryAfter(decoded, { headers: error.metadata });
}

/** Returns the HTTP status for a gRPC status. It is used only if the error has no google.rpc.ErrorInfo. */
function statusOf(code: Code, subject: ErrorSubject | undefined): number {
  // Several errors of the protocol have this status. The subject of the request decides which one it is.
  if (code === Code.FailedPrecondition) return subject === 'cancel' ? 409 : 501;
  return httpStatusOf(code);
}

/** Returns the details in the form that they have in REST. Leaves out invalid details, and those of unknown types. */
function detailsOf({ details }: ConnectError): unknown[] {
  return details.flatMap((detail) => {
    if (!('type' in detail)) return [];
    const schema = registry.getMessage(detail.type);
    if (!schema) return [];
    try {
      const fields = toJson(schema, fromBinary(schema, detail.value));
      return [{ '@type': `type.googleapis.com/${detail.type}`, ...Object(fields) }];
    } catch {
      return [];
    }
  });
}
