/** The two HTTP bindings. Each makes requests, and finds the result, the event or the error in a response. */
import { isObject, trimEndOf } from '../../base/index.ts';
import {
  A2AError,
  jsonRpcRequest,
  METHODS,
  readJsonRpcResponse,
  type Binding,
  type ErrorSubject,
  type Operation,
  type ParamsOf,
  type RestRoute,
  type WireCodec,
} from '../../protocol/index.ts';
import { errorOfStatus, type ResponseHead } from './request.ts';

/** The address of an agent, with its binding and tenant. */
export interface Endpoint {
  readonly url: string;
  readonly binding: Binding;
  readonly tenant?: string | undefined;
}

export interface Ask {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
  /** The subject of the request. It determines the kind of an error that has no code. */
  readonly subject?: ErrorSubject | undefined;
  /** The same request with another HTTP method, for a server that does not support the first method. */
  readonly other?: Ask;
  /** Only in `other`. Called if this request succeeds, so that the next call tries this method first. */
  readonly prefer?: () => void;
}

export interface HttpBinding {
  readonly contentType: string;
  ask<O extends Operation>(operation: O, params: ParamsOf<O>): Ask;
  /** Returns the result, which the codec then decodes. If the response contains an error, throws this error. */
  result(body: unknown, response: ResponseHead, asked: Ask): unknown;
  /**
   * Returns the event in an SSE `data` field, which the codec then decodes. If the field contains an error, throws this
   * error.
   */
  event(body: unknown, type: string): unknown;
}

export function createBinding(endpoint: Endpoint, codec: WireCodec): HttpBinding {
  return endpoint.binding === 'JSONRPC' ? jsonRpc(endpoint, codec) : rest(endpoint, codec);
}

function jsonRpc({ url, tenant }: Endpoint, codec: WireCodec): HttpBinding {
  let lastId = 0;
  return {
    contentType: 'application/json',
    ask: (operation, params) => ({
      method: 'POST',
      url,
      body: jsonRpcRequest(codec, ++lastId, operation, withTenant(params, tenant)),
    }),
    result(body, response) {
      const hasError = isObject(body) && isObject(body['error']);
      if (!response.ok && !hasError) throw errorOfStatus(response);
      return readJsonRpcResponse(codec, body, response.ok ? undefined : response.status) ?? null;
    },
    event: (body) => readJsonRpcResponse(codec, body),
  };
}

function rest({ url, tenant: ownTenant }: Endpoint, codec: WireCodec): HttpBinding {
  const old = codec.version === '0.3';
  const base = new URL(url);
  const prefix = trimEndOf(base.pathname, '/');
  /** Whether `subscribe` tries its second HTTP method first, because this method was the last one that worked. */
  let otherWorks = false;

  function request(
    operation: Operation,
    { verb, path }: RestRoute,
    params: Params,
    tenant: unknown,
  ): Ask {
    const target = new URL(base);
    const place = tenant === undefined || tenant === '' ? '' : `/${segment('tenant', tenant)}`;
    target.pathname = prefix + place + fillPath(path, params);
    const encoded = codec.encodeParams(operation, params);
    const rest = { ...(isObject(encoded) ? encoded : {}) };
    for (const name of PATH_FIELDS[operation] ?? []) delete rest[name];
    const asked = { method: verb, subject: subjectOf(operation, params) };
    if (verb === 'POST') return { ...asked, url: target.href, body: rest };
    for (const [name, value] of Object.entries(rest)) {
      // A query can have only plain values, so metadata, for example, is omitted.
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
        target.searchParams.set(name, String(value));
      }
    }
    return { ...asked, url: target.href };
  }

  return {
    contentType: old ? 'application/json' : 'application/a2a+json',
    ask(operation, params) {
      const [first, other] = METHODS[operation].rest[codec.version];
      if (old) refuseTenant(params);
      const { tenant = ownTenant, ...inner } = params as Params;
      if (!other) return request(operation, first, inner, tenant);
      const [now, then] = otherWorks ? [other, first] : [first, other];
      const prefer = (): void => void (otherWorks = then === other);
      const alternative = { ...request(operation, then, inner, tenant), prefer };
      return { ...request(operation, now, inner, tenant), other: alternative };
    },
    result(body, response, { subject }) {
      if (response.ok) return body;
      const { status } = response;
      throw isObject(body) ? codec.decodeError(body, status, subject) : errorOfStatus(response);
    },
    event(body, type) {
      if (type === 'error' || (isObject(body) && body['error'] != null)) {
        throw codec.decodeError(body);
      }
      return body;
    },
  };
}

type Params = Readonly<Record<string, unknown>>;

/**
 * Returns the subject of a request, which determines the kind of an error that has no code. Returns undefined for a
 * list of tasks, and for a message that is not for an existing task.
 */
export function subjectOf(operation: Operation, { message }: Params): ErrorSubject | undefined {
  if (operation === 'cancelTask') return 'cancel';
  if (operation === 'listTasks') return undefined;
  const { on } = METHODS[operation];
  if (on === 'pushConfig') return 'push';
  if (on !== 'message') return on;
  return isObject(message) && message['taskId'] !== undefined ? 'task' : undefined;
}

/** Parameters that are in the path, under the names of both versions. They are not repeated in the body or query. */
const PATH_FIELDS: { readonly [O in Operation]?: readonly string[] } = {
  getTask: ['id'],
  cancelTask: ['id'],
  subscribe: ['id'],
  getPushConfig: ['id', 'taskId', 'pushNotificationConfigId'],
  listPushConfigs: ['id', 'taskId'],
  deletePushConfig: ['id', 'taskId', 'pushNotificationConfigId'],
};

function fillPath(path: string, params: Readonly<Record<string, unknown>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    // In the paths of METHODS, `{id}` is the task's id. The parameters of setPushConfig have it as `taskId`.
    return segment(name, params[name] ?? (name === 'id' ? params['taskId'] : undefined));
  });
}

/** Returns the value of a parameter as a segment of a path. */
function segment(name: string, value: unknown): string {
  // Dot segments are removed from a URL, even if they are escaped, so they would change the path.
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
    throw new A2AError('invalidParams', `Invalid parameters: ${name}: not usable as an id`);
  }
  return encodeURIComponent(value);
}

/** Adds the tenant of the endpoint to the parameters, unless they already have a tenant. */
export function withTenant<P extends object>(params: P, tenant: string | undefined): P {
  return tenant === undefined || tenant === '' || tenantIn(params) !== undefined
    ? params
    : { ...params, tenant };
}

/**
 * Throws if the parameters have a tenant. Called for the bindings that cannot send a tenant. Without this check, a
 * request could reach a tenant that the caller did not name.
 */
export function refuseTenant(params: object): void {
  const tenant = tenantIn(params);
  if (tenant === undefined || tenant === '') return;
  const why = 'A2A 0.3 has no tenants over REST and gRPC: use A2A 1.0';
  throw new A2AError('invalidParams', `Invalid parameters: tenant: ${why}`);
}

function tenantIn(params: object): unknown {
  return 'tenant' in params ? params.tenant : undefined;
}
