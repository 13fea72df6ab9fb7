/**
 * An agent's own JSON-RPC methods and HTTP routes, in addition to those of the protocol.
 *
 *   serve(agent, {
 *     methods: { 'notes/list': { handle: async (params, call, handler) => ({ notes }) } },
 *     routes: [{ verb: 'GET', path: '/notes/{id}', handle: async ({ values }) => ({ body: noteOf(values.id) }) }],
 *   });
 *
 * The checks, the authentication and the limits are the same as for the protocol's methods and routes. Only a `public`
 * route needs no authentication. A route takes precedence over the protocol's REST paths. It cannot replace the path
 * `/`, the card or the key set.
 */
import { type A2AError, operationOf, type Call, VERSIONS } from '../protocol/index.ts';
import type { Opening, Published, RequestHandler, TaskStream } from '../tasks/index.ts';
import { pathPattern, pathValues } from './path-pattern.ts';
import type { TransportRequest } from './request.ts';

/** A JSON-RPC method. Clients of all protocol versions call it in the same way. */
export interface OwnMethod {
  /** Returns the result. An A2AError is sent to the caller. Any other error becomes an internal error. */
  handle(params: unknown, call: Call, handler: RequestHandler): Promise<unknown>;
}

/** A request to a route. */
export interface RouteRequest {
  /** The values of the path's parameters. */
  readonly values: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed JSON body, or undefined if there is no body. If the route has `form`, a URLSearchParams object. */
  readonly body: unknown;
  /** The client's address. */
  readonly remote: string;
  readonly call: Call;
  readonly handler: RequestHandler;
  header(name: string): string | undefined;
}

/** The answer of a route. */
export interface RouteReply {
  /** The HTTP status. Default: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /** Text that is sent unchanged if `body` and `bytes` are undefined. `headers` must contain its content type. */
  readonly text?: string;
  /** Bytes that are sent unchanged if `body` is undefined. `headers` must contain their content type. */
  readonly bytes?: Uint8Array;
}

/** The headers of an answer that must not be stored in a cache. */
export const NO_STORE = { 'cache-control': 'no-store' };

/** An answer of text in chunks, which are sent as fast as the client reads them. */
export interface RouteText {
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The chunks. If the iteration throws, the connection is closed, so that the client sees that the answer is
   * incomplete.
   */
  readonly chunks: AsyncIterable<string>;
}

/** A streamed answer of a route. */
export interface RouteStream {
  readonly stream: TaskStream;
  /** Formats an event. Returns an empty string if the client does not get the event. */
  readonly frame: (item: Published | Opening) => string;
  /** Formats an error after which the stream ends. */
  readonly failure?: ((error: A2AError) => string) | undefined;
}

/** The part of a request that may determine the format of its error. */
export type FailedRequest = Pick<TransportRequest, 'url' | 'header'>;

/** The method and the path of a route. */
export interface RouteBase {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path. `{name}` is a parameter. It stands for one path segment or a part of one. */
  readonly path: string;
  /** Extensions that are active for every request to the route. */
  readonly implies?: readonly string[];
  /** Whether the route can be used without authentication. */
  readonly public?: boolean;
  /** Maximum size of the body. Default: the limit of the server. Public routes should have a small limit. */
  readonly maxBodyBytes?: number;
  /** Whether the body is an HTML form. `body` is then a URLSearchParams object. */
  readonly form?: boolean;
  /**
   * Formats an error. By default, the server's option `describe` formats it. If `describe` is missing or returns
   * undefined, the error has the protocol's format.
   */
  error?(error: A2AError, request: FailedRequest): RouteReply;
}

/** A route that answers with JSON, text or bytes. */
export interface JsonRoute extends RouteBase {
  handle(request: RouteRequest): Promise<RouteReply | RouteText>;
}

/** A route that answers with a task's events as server-sent events. If `open` rejects, the answer is an error reply. */
export interface StreamRoute extends RouteBase {
  open(request: RouteRequest): Promise<RouteStream>;
}

/** An HTTP route of the agent, in addition to those of the protocol. */
export type OwnRoute = JsonRoute | StreamRoute;

/** Returns the methods by name. Throws if the protocol already uses a name. */
export function ownMethods(
  methods: Readonly<Record<string, OwnMethod>> | undefined,
): ReadonlyMap<string, OwnMethod> | undefined {
  const named = Object.entries(methods ?? {});
  for (const [name] of named) {
    if (!VERSIONS.some((version) => operationOf(version, name))) continue;
    throw new TypeError(`${name} is a method of the protocol; choose another name`);
  }
  return named.length === 0 ? undefined : new Map(named);
}

export interface RouteMatch {
  readonly route: OwnRoute;
  readonly values: Readonly<Record<string, string>>;
}

export interface RouteTable {
  /**
   * Finds the route for a verb and a path. If the path exists only for other verbs, returns these verbs as `allow`.
   * Returns undefined if the path does not exist.
   */
  match(verb: string, path: string): RouteMatch | { readonly allow: readonly string[] } | undefined;
}

/** Makes the table of routes, sorted by their number of parameters: `/tasks/metadata` comes before `/tasks/{id}`. */
export function routeTable(routes: readonly OwnRoute[] = []): RouteTable | undefined {
  if (routes.length === 0) return undefined;
  const table = routes
    .map((route) => ({ route, path: pathPattern(route.path) }))
    .toSorted((one, other) => one.path.names.length - other.path.names.length);
  return {
    match(asked, path) {
      const allow: string[] = [];
      const verb = asked === 'HEAD' ? 'GET' : asked;
      let parameters: number | undefined;
      for (const { route, path: expected } of table) {
        // If a route matches the path, routes with more parameters are not tried, even if the matching route has
        // another verb.
        if (parameters !== undefined && expected.names.length > parameters) break;
        const found = expected.pattern.exec(path);
        if (!found) continue;
        parameters = expected.names.length;
        if (route.verb !== verb) {
          allow.push(route.verb, ...(route.verb === 'GET' ? ['HEAD'] : []));
          continue;
        }
        return { route, values: pathValues(expected, found) };
      }
      return allow.length > 0 ? { allow } : undefined;
    },
  };
}
