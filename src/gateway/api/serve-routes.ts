/**
 * Converts the gateway's route table to routes of the HTTP server. They check the caller's scopes. By default, an error
 * response is `{"error": "…"}`.
 */
import { A2AError } from '../../protocol/index.ts';
import type {
  FailedRequest,
  OwnRoute,
  RouteReply,
  RouteRequest,
  RouteStream,
} from '../../http/index.ts';
import { Caller, callerOf } from './caller.ts';
import type { GatewayRoute } from './route.ts';

const WHERE_KEYS_GO = 'send a key as Authorization: Bearer KEY, or as x-api-key: KEY';

/** The caller of a route that needs no authentication. */
const ANONYMOUS = new Caller({ workspace: '', actor: 'anonymous', scopes: new Set() });

export function ownRoutes(routes: readonly GatewayRoute[]): OwnRoute[] {
  return routes.map((route): OwnRoute => {
    const { verb, path, scope } = route;
    const base = {
      verb,
      path,
      public: scope === 'open',
      error: (error: A2AError, failed: FailedRequest) =>
        route.error ? route.error(error, failed) : describeOwn(error),
    };
    if (route.events === true) return { ...base, open: (request) => events(route, request) };
    return {
      ...base,
      async handle(request) {
        const answer = await handled(route, request);
        if ('stream' in answer)
          throw new TypeError(`${verb} ${path} returned a stream but does not set events: true`);
        return answer;
      },
    };
  });
}

/** Returns the error response of the gateway's own routes. A2A endpoints use the error format of the protocol. */
export function describeOwn({ kind, httpStatus: status, message }: A2AError): RouteReply {
  const hint = kind === 'unauthenticated' ? `: ${WHERE_KEYS_GO}` : '';
  return { status, body: { error: message + hint } };
}

/** The error format of one API. It also applies to paths of this API for which there is no route. */
export interface ErrorFormat {
  applies(path: string, request: FailedRequest): boolean;
  readonly error: NonNullable<GatewayRoute['error']>;
}

/**
 * Returns a function that formats an error in the first format that applies. If no format applies, the function calls
 * `describeOwn`.
 */
export function describeIn(formats: readonly ErrorFormat[]) {
  return (error: A2AError, request: FailedRequest): RouteReply => {
    const [path = ''] = request.url.split('?');
    const format = formats.find((each) => each.applies(path, request));
    return format ? format.error(error, request) : describeOwn(error);
  };
}

async function events(route: GatewayRoute, request: RouteRequest): Promise<RouteStream> {
  const answer = await handled(route, request);
  if ('stream' in answer) return answer;
  throw new TypeError(`${route.verb} ${route.path} sets events: true but returned no stream`);
}

/**
 * Handles a request. If a model does not accept a file in the request, the status is 400. It is not 415, because the
 * body itself has the right content type.
 */
async function handled(route: GatewayRoute, request: RouteRequest) {
  const { scope } = route;
  const { values, query, body, call, handler } = request;
  const caller = scope === 'open' ? ANONYMOUS : callerOf(call);
  if (scope !== 'open' && scope !== 'any') caller.need(scope);
  const header = (name: string) => request.header(name);
  try {
    return await route.handle({ values, query, body, call, handler, caller, header });
  } catch (error) {
    if (!(error instanceof A2AError) || error.kind !== 'contentTypeNotSupported') throw error;
    const { message, detail, reason } = error;
    throw new A2AError('invalidParams', message, { ...detail, reason });
  }
}
