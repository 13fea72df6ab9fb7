/** The two HTTP bindings. Each makes requests, and finds the result, the event or the error in a response. */
import { isObject } from '../../base/index.ts';
import {
  A2AError,
  METHODS,
  type Binding,
  type Operation,
  type ParamsOf,
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
}

export interface HttpBinding {
  readonly contentType: string;
  ask<O extends Operation>(operation: O, params: ParamsOf<O>): Ask;
  /** Returns the result, which the codec then decodes. If the response contains an error, throws this error. */
  result(body: unknown, response: ResponseHead): unknown;
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
  const unwrap = (body: unknown): unknown => {
    if (!isObject(body)) throw new A2AError('invalidAgentResponse', 'Not a JSON-RPC response');
    if (body['error'] !== undefined && body['error'] !== null)
      throw codec.decodeError(body['error']);
    return body['result'];
  };
  return {
    contentType: 'application/json',
    ask: (operation, params) => ({
      method: 'POST',
      url,
      body: {
        jsonrpc: '2.0',
        id: ++lastId,
        method: METHODS[operation].names[codec.version],
        params: codec.encodeParams(operation, withTenant(params, tenant)),
      },
    }),
    result(body, response) {
      if (isObject(body) && isObject(body['error'])) {
        throw codec.decodeError(body['error'], response.ok ? undefined : response.status);
      }
      if (!response.ok) throw errorOfStatus(response);
      return unwrap(body) ?? null;
    },
    event: unwrap,
  };
}

function rest({ url, tenant }: Endpoint, codec: WireCodec): HttpBinding {
  const old = codec.version === '0.3';
  const base = new URL(url);
  const prefix =
    base.pathname.replace(/\/+$/, '') + (tenant ? `/${encodeURIComponent(tenant)}` : '');
  return {
    contentType: old ? 'application/json' : 'application/a2a+json',
    ask(operation, params) {
      const [route] = METHODS[operation].rest[codec.version];
      const { tenant: _, ...inner } = params as Record<string, unknown>;
      const target = new URL(base);
      target.pathname = prefix + fillPath(route.path, inner);
      const encoded = codec.encodeParams(operation, inner);
      const rest = { ...(isObject(encoded) ? encoded : {}) };
      for (const name of PATH_FIELDS[operation] ?? []) delete rest[name];
      if (route.verb === 'POST') return { method: route.verb, url: target.href, body: rest };
      for (const [name, value] of Object.entries(rest)) {
        // A query can have only plain values, so metadata, for example, is omitted.
        if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
          target.searchParams.set(name, String(value));
        }
      }
      return { method: route.verb, url: target.href };
    },
    result(body, response) {
      if (!response.ok) {
        throw isObject(body) ? codec.decodeError(body, response.status) : errorOfStatus(response);
      }
      return body;
    },
    event(body, type) {
      if (type === 'error' || (isObject(body) && isObject(body['error']))) {
        throw codec.decodeError(body);
      }
      return body;
    },
  };
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
    // `{id}` in the table is always the task's id. setPushConfig calls it taskId.
    const value = params[name] ?? (name === 'id' ? params['taskId'] : undefined);
    // Dot segments are removed from a URL, even if they are escaped, so they would lead to another path.
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
      throw new A2AError('invalidParams', `Invalid parameters: ${name}: not usable as an id`);
    }
    return encodeURIComponent(value);
  });
}

function withTenant<P extends object>(params: P, tenant: string | undefined): P {
  return tenant === undefined || tenant === '' || 'tenant' in params
    ? params
    : { ...params, tenant };
}
