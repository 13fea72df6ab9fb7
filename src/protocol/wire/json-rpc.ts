/**
 * The envelopes of JSON-RPC 2.0, as A2A uses them: one request per message, no batches and no notifications. The
 * codecs convert the parameters and results inside.
 *
 *   const request = jsonRpcRequest(v1, 1, 'getTask', { id: 't1' });
 *   const task = v1.decodeResult('getTask', readJsonRpcResponse(v1, await post(request)));
 */
import { isObject } from '../../base/index.ts';
import { A2AError } from '../errors.ts';
import { METHODS, type Operation, type ParamsOf } from '../methods.ts';
import type { WireCodec } from './codec.ts';

/** The id of a request. If a request has no readable id, its response has the id null. */
export type JsonRpcId = string | number | null;

/** A JSON-RPC request. `params` is in the format of the codec's version. */
export interface JsonRpcRequest {
  readonly jsonrpc: '2.0';
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params?: unknown;
}

/** A JSON-RPC response with a result. */
export interface JsonRpcResult {
  readonly jsonrpc: '2.0';
  readonly id: JsonRpcId;
  readonly result: unknown;
}

/** A JSON-RPC response with an error. */
export interface JsonRpcFailure {
  readonly jsonrpc: '2.0';
  readonly id: JsonRpcId;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Maximum length of an id. The length is limited, because the response repeats the id. */
const MAX_ID = 256;

/**
 * Client: makes the request for an operation, with the method name and the parameter format of the codec's version.
 *
 *   JSON.stringify(jsonRpcRequest(v03, 1, 'cancelTask', { id: 't1' }));
 */
export function jsonRpcRequest<O extends Operation>(
  codec: WireCodec,
  id: JsonRpcId,
  operation: O,
  params: ParamsOf<O>,
): JsonRpcRequest {
  const method = METHODS[operation].names[codec.version];
  return { jsonrpc: '2.0', id, method, params: codec.encodeParams(operation, params) };
}

/** Server: makes the response with a result. The codec must have encoded the result. */
export function jsonRpcResult(id: JsonRpcId, result: unknown): JsonRpcResult {
  return { jsonrpc: '2.0', id, result };
}

/** Server: makes the response with an error. */
export function jsonRpcFailure(codec: WireCodec, id: JsonRpcId, error: A2AError): JsonRpcFailure {
  return { jsonrpc: '2.0', id, error: codec.encodeError(error) };
}

/**
 * Server: returns the id of a request, even if the rest of the request is invalid. Returns null if there is no valid
 * id.
 */
export function jsonRpcIdOf(raw: unknown): JsonRpcId {
  const id = isObject(raw) ? raw['id'] : null;
  const isValid =
    (typeof id === 'number' && isExact(id)) || (typeof id === 'string' && id.length <= MAX_ID);
  return isValid ? id : null;
}

/**
 * Returns whether the response can repeat the number exactly. JSON.parse rounds numbers above MAX_SAFE_INTEGER, or
 * makes them infinite. Numbers with a fraction are allowed, although the specification advises against them.
 */
function isExact(id: number): boolean {
  return Math.abs(id) <= Number.MAX_SAFE_INTEGER;
}

/**
 * Server: checks the envelope of a parsed request. Throws `invalidRequest` if it is invalid. Does not check the
 * parameters, which the codec checks. To limit the depth and the size of JSON from an untrusted client, also call
 * `inspectJson`.
 *
 *   const { id, method, params } = readJsonRpcRequest(JSON.parse(body));
 *   const operation = operationOf('1.0', method);
 */
export function readJsonRpcRequest(raw: unknown): JsonRpcRequest {
  if (Array.isArray(raw)) throw invalid('Batches are not supported');
  if (!isObject(raw)) throw invalid('A request must be a JSON object');
  const { jsonrpc, id, method, params } = raw;
  if (typeof id === 'string' && id.length > MAX_ID) {
    throw invalid(`id: must have at most ${MAX_ID} characters`);
  }
  // A2A has no notifications. A request without an id is handled as if its id were null.
  if (id != null && typeof id !== 'string' && typeof id !== 'number') {
    throw invalid('id: must be a string or a number');
  }
  if (typeof id === 'number' && !isExact(id)) {
    const max = Number.MAX_SAFE_INTEGER;
    throw invalid(`id: a number must be between -${max} and ${max}; use a string instead`);
  }
  if (jsonrpc !== '2.0') throw invalid('jsonrpc: must be "2.0"');
  if (typeof method !== 'string') throw invalid('method: must be a string');
  return { jsonrpc, id: id ?? null, method, params };
}

/**
 * Client: returns the result in a parsed response. The codec must decode this result. Throws the error in the response,
 * if there is one. Throws `invalidAgentResponse` if the response is not a JSON object. `http` is the HTTP status of a
 * failed request.
 */
export function readJsonRpcResponse(codec: WireCodec, raw: unknown, http?: number): unknown {
  if (!isObject(raw)) throw new A2AError('invalidAgentResponse', 'Not a JSON-RPC response');
  if (raw['error'] != null) throw codec.decodeError(raw['error'], http);
  return raw['result'];
}

function invalid(message: string): A2AError {
  return new A2AError('invalidRequest', message);
}
