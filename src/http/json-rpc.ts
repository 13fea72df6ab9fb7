/** The JSON-RPC 2.0 binding: one POST per call, answered with a response or a stream of responses. */
import { lineSafe } from '../base/index.ts';
import {
  isStream,
  A2AError,
  codecOf,
  inspectJson,
  jsonRpcFailure,
  jsonRpcIdOf,
  operationOf,
  parseJsonText,
  readJsonRpcRequest,
  type JsonRpcId,
  type ProtocolVersion,
  type User,
  type WireCodec,
} from '../protocol/index.ts';
import { FinishedTaskError } from '../tasks/index.ts';
import type { AppContext } from './context.ts';
import { invoke, invokeSend } from './invoke.ts';
import { activeExtensions, extensionHeader, requestedVersion } from './negotiate.ts';
import { counted } from './pending-bytes.ts';
import type { FullReply, Reply, TransportRequest } from './request.ts';
import { errorHeaders, openStream, peerError, STREAM_HEADERS, TransportCall } from './respond.ts';

/**
 * Errors that are sent as JSON with their own HTTP status, because proxies and clients react to this status. With two
 * exceptions (FinishedTaskError in `jsonRpcError`, and 415 in app.ts), all other errors are sent with status 200.
 */
const WITH_STATUS = new Set([
  'unauthenticated',
  'forbidden',
  'rateLimited',
  'tooLarge',
  'unavailable',
]);

const JSON_HEADERS = { 'content-type': 'application/json' };

/**
 * Answers a request. If `refusal` is given, only the envelope of the request is read, and the answer is always an
 * error: `refusal`, or the error for an invalid envelope.
 */
export async function answerJsonRpc(
  app: AppContext,
  request: TransportRequest,
  query: URLSearchParams | undefined,
  user: User | undefined,
  body: string,
  refusal?: A2AError,
): Promise<Reply> {
  let id: JsonRpcId = null;
  let codec: WireCodec = codecOf('0.3', 'JSONRPC');
  let asksForStream = false;
  try {
    const raw = parseJsonText(body);
    id = jsonRpcIdOf(raw);
    const { method, params } = readJsonRpcRequest(raw);
    // If the requested version is not supported, the error has the format of the version that has this method.
    const old = operationOf('0.3', method);
    const named = old ?? operationOf('1.0', method);
    asksForStream = named !== undefined && isStream(named);
    codec = codecOf(old ? '0.3' : '1.0', 'JSONRPC');
    if (refusal) throw refusal;
    inspectJson(raw);
    const version = chooseVersion(app, request, query, method);
    codec = codecOf(version, 'JSONRPC');
    const operation = version === '1.0' && !old ? named : operationOf(version, method);
    const own = operation ? undefined : app.methods?.get(method);
    if (!operation && !own) {
      throw new A2AError('methodNotFound', `A2A ${version} has no such method`);
    }
    const extensions = activeExtensions(request, app);
    const call = new TransportCall(request, user, version, extensions);
    const active = extensionHeader(version, extensions);
    if (operation && isStream(operation)) {
      const stream = { request, query, codec, operation, params, call, headers: active, id };
      return await openStream(app, stream);
    }
    const result =
      operation === 'sendMessage'
        ? await invokeSend(app.handler, codec, params, call)
        : JSON.stringify(
            operation
              ? await invoke(app.handler, codec, operation, params, call)
              : ((await own?.handle(params, call, app.handler)) ?? null),
          );
    return counted(app.pending, request, user, {
      status: 200,
      headers: active ? { ...JSON_HEADERS, ...active } : JSON_HEADERS,
      body: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`,
    });
  } catch (error) {
    const failure = peerError(app, error);
    return jsonRpcError(failure, id, codec, asksForStream);
  }
}

/**
 * Makes an error response. If the client requested a stream, and the error has no HTTP status of its own, the response
 * is a stream with the error as its only event. The reason: after a request for a stream, clients of the Python and Go
 * SDKs read the error code only from a stream. A subscription to a finished task gets JSON with the error's HTTP
 * status, because the compatibility kit of 1.0 treats any event stream as success.
 */
export function jsonRpcError(
  error: A2AError,
  id: JsonRpcId,
  codec: WireCodec,
  asksForStream: boolean = false,
): FullReply {
  const body = JSON.stringify(jsonRpcFailure(codec, id, error));
  const withStatus =
    WITH_STATUS.has(error.kind) || (asksForStream && error instanceof FinishedTaskError);
  if (asksForStream && !withStatus) {
    const headers = { ...STREAM_HEADERS, ...errorHeaders(error) };
    return { status: 200, headers, body: `data: ${lineSafe(body)}\n\n` };
  }
  const headers = { ...JSON_HEADERS, ...errorHeaders(error) };
  return { status: withStatus ? error.httpStatus : 200, headers, body };
}

/**
 * Returns the requested version. If no version is requested, returns the oldest supported version that has a method
 * with this name. If no supported version has one, returns the oldest supported version.
 */
function chooseVersion(
  app: AppContext,
  request: TransportRequest,
  query: URLSearchParams | undefined,
  method: string,
): ProtocolVersion {
  const asked = requestedVersion(request, query, app.versions);
  if (asked) return asked;
  const known = app.versions.find((version) => operationOf(version, method));
  return known ?? app.versions[0] ?? '0.3';
}
