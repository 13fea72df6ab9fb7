/** Counts every request by its route, and every state change of a task. */
import type { ServeOptions } from '../../server.ts';
import { agentOfTenant } from '../api/caller.ts';
import type { GatewayRoute } from '../api/route.ts';
import type { Meter } from './telemetry.ts';

type Observe = NonNullable<ServeOptions['observe']>;

const REFUSED: Readonly<Record<number, string>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  429: 'limited',
};

/**
 * With HTTP/2, a client can send any word as the method. Only these methods become labels. All others are counted as
 * `other`.
 */
const VERBS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

export function watchRequests(meter: Meter, routes: readonly GatewayRoute[]): Observe {
  const routeOf = namer(routes);
  return ({ method, url }, status, seconds) => {
    const route = routeOf(url);
    const verb = VERBS.has(method) ? method : 'other';
    meter.count('parley_http_requests_total', { verb, route, status: String(status) });
    meter.observe('parley_http_request_duration_seconds', { verb, route }, seconds);
    const reason = REFUSED[status];
    if (reason !== undefined) meter.count('parley_refused_total', { reason });
  };
}

export function watchTasks(meter: Meter): NonNullable<ServeOptions['onState']> {
  return ({ tenant }, state) => {
    const door = agentOfTenant(tenant) === undefined ? 'gateway' : 'agent';
    meter.count('parley_tasks_total', { door, state });
  };
}

const GRPC_METHOD = /^\/(?:lf\.)?a2a\.v1\.A2AService\//;
const GRPC_TOOLS = /^\/grpc\.(?:health|reflection)\./;

/** Returns a function that returns the label `route` for a URL. The label never contains values of path parameters. */
function namer(routes: readonly GatewayRoute[]): (url: string) => string {
  const literal = new Set<string>();
  const patterns: (readonly [RegExp, string])[] = [];
  for (const { path } of routes) {
    if (!path.includes('{')) literal.add(path);
    else patterns.push([new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`), path]);
  }
  return (url) => {
    const [path = '/'] = url.split('?', 1);
    if (path === '/') return 'A2A JSON-RPC';
    if (GRPC_METHOD.test(path)) return 'A2A gRPC';
    if (GRPC_TOOLS.test(path)) return 'gRPC health or reflection';
    if (path.startsWith('/agents/')) return '/agents/{name}';
    if (literal.has(path)) return path;
    const found = patterns.find(([pattern]) => pattern.test(path));
    if (found) return found[1];
    return path.startsWith('/.well-known/') ? 'card' : 'A2A REST, or other';
  };
}
