/** JSON-RPC 2.0 over one POST: the envelope, the method, and an answer or a stream of answers. */
import {
  A2AError,
  type Call,
  inspectJson,
  isObject,
  type Operation,
  operationOf,
  type ProtocolVersion,
  type User,
  type WireCodec,
} from '../protocol/index.ts';
import type { RequestHandler } from '../server/index.ts';
import type { AppContext } from './context.ts';
import { invoke, invokeStream, isStream } from './invoke.ts';
import { activeExtensions, CODECS, extensionHeader, requestedVersion } from './negotiate.ts';
import type { FullReply, Reply, TransportRequest } from './request.ts';
import { lastEventId, peerError, retryHeader, STREAM_HEADERS, TransportCall } from './respond.ts';

type Id = string | number | null;

/** Errors that HTTP has its own word for, and that a proxy or a client acts on. The others are 200, as in 0.3. */
const WITH_STATUS = new Set([
  'unauthenticated',
  'forbidden',
  'rateLimited',
  'tooLarge',
  'unavailable',
]);

const JSON_HEADERS = { 'content-type': 'application/json' };

export async function answerJsonRpc(
  app: AppContext,
  request: TransportRequest,
  query: URLSearchParams | undefined,
  user: User | undefined,
  body: string,
): Promise<Reply> {
  let id: Id = null;
  let codec: WireCodec = CODECS['0.3'];
  let operation: Operation | undefined;
  try {
    const envelope = parseEnvelope(body, (found) => (id = found));
    // Who names a version that we do not know is answered in the one that the method's name is from.
    codec = CODECS[operationOf('0.3', envelope.method) ? '0.3' : '1.0'];
    const version = chooseVersion(app, request, query, envelope.method);
    codec = CODECS[version];
    operation = operationOf(version, envelope.method);
    if (!operation) {
      throw new A2AError('methodNotFound', `There is no such method in A2A ${version}`);
    }
    const extensions = activeExtensions(request, app.extensions);
    const call = new TransportCall(request, user, version, extensions);
    const named = extensionHeader(version, extensions);
    if (isStream(operation)) {
      return await stream(app, request, codec, operation, envelope.params, id, call, named, query);
    }
    const result = await invoke(app.handler, codec, operation, envelope.params, call);
    return {
      status: 200,
      headers: named ? { ...JSON_HEADERS, ...named } : JSON_HEADERS,
      body: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`,
    };
  } catch (error) {
    const failure = peerError(app, error);
    return jsonRpcError(failure, id, codec, operation !== undefined && isStream(operation));
  }
}

/** An error response. Where the client asked for a stream it has the error's own status, so that it looks like none. */
export function jsonRpcError(
  error: A2AError,
  id: Id,
  codec: WireCodec,
  instead: boolean = false,
): FullReply {
  const status = instead || WITH_STATUS.has(error.kind) ? error.httpStatus : 200;
  return {
    status,
    headers: { 'content-type': 'application/json', ...retryHeader(error) },
    body: JSON.stringify({ jsonrpc: '2.0', id, error: codec.encodeError(error) }),
  };
}

async function stream(
  app: AppContext,
  request: TransportRequest,
  codec: WireCodec,
  operation: 'streamMessage' | 'subscribe',
  params: unknown,
  id: Id,
  call: Call,
  named: Record<string, string> | undefined,
  query: URLSearchParams | undefined,
): Promise<Reply> {
  const release = app.streams.acquire(call.user?.id ?? request.remote);
  try {
    const after = lastEventId(request, query);
    const handler: RequestHandler = app.handler;
    const opened = await invokeStream(handler, codec, operation, params, after, call);
    const head = `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
    return {
      headers: named ? { ...STREAM_HEADERS, ...named } : STREAM_HEADERS,
      stream: opened,
      frame: (item) =>
        item.seq === undefined
          ? `${head}${item.text(codec)}}\n\n`
          : `id: ${item.seq}\n${head}${item.text(codec)}}\n\n`,
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

function parseEnvelope(body: string, onId: (id: Id) => void): { method: string; params: unknown } {
  let raw: unknown;
  try {
    raw = JSON.parse(body);
  } catch {
    throw new A2AError('parse');
  }
  if (Array.isArray(raw)) throw new A2AError('invalidRequest', 'Batches are not supported');
  if (!isObject(raw)) throw new A2AError('invalidRequest', 'A request is a JSON object');
  const { jsonrpc, id, method, params } = raw;
  if (typeof id === 'string' || typeof id === 'number') onId(id);
  // Without an id it would be a notification, of which A2A has none: it is answered, as one with a null would be.
  else if (id != null) throw new A2AError('invalidRequest', 'id: must be a string or a number');
  if (jsonrpc !== '2.0') throw new A2AError('invalidRequest', 'jsonrpc: must be "2.0"');
  if (typeof method !== 'string')
    throw new A2AError('invalidRequest', 'method: a string is required');
  inspectJson(raw);
  return { method, params };
}

/** The request says the version, or the method's name leaves no doubt; else it is 0.3. */
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
