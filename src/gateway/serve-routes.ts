/** The gateway's table of routes as the transport's: scopes are checked, failures are `{"error": "…"}`. */
import type { A2AError } from '../protocol/index.ts';
import type { OwnRoute, RouteReply, RouteRequest, RouteStream } from '../transport/index.ts';
import { Caller, callerOf } from './caller.ts';
import type { GatewayRoute, RouteAnswer, RouteInput } from './route.ts';

/** Paths of the gateway's own, whose failures are in the dialect's words. */
const OWN_PATHS =
  /^\/(?:a2a|v1\/(?:chat|models|embeddings)|healthz|readyz|metrics|openapi\.json)(?:\/|$)/;

/** Who calls an open route. */
const NOBODY = new Caller({ workspace: '', actor: 'nobody', scopes: new Set() });

export function ownRoutes(routes: readonly GatewayRoute[]): OwnRoute[] {
  return routes.map((route): OwnRoute => {
    const { verb, path, scope } = route;
    const base = {
      verb,
      path,
      public: scope === 'open',
      error: (error: A2AError): RouteReply => replyOf(route.error?.(error) ?? describe(error)),
    };
    if (route.events === true) return { ...base, open: (request) => events(route, request) };
    return {
      ...base,
      async handle(request) {
        const answer = await route.handle(inputOf(route, request));
        if ('stream' in answer) throw new TypeError(`${verb} ${path} does not say that it streams`);
        return 'chunks' in answer ? answer : replyOf(answer);
      },
    };
  });
}

/** What the gateway says of an error on its own paths. */
export function describeOwn(error: A2AError, path: string): RouteReply | undefined {
  return OWN_PATHS.test(path) ? replyOf(describe(error)) : undefined;
}

function describe(error: A2AError): RouteAnswer {
  return { status: error.httpStatus, body: { error: error.message } };
}

async function events(route: GatewayRoute, request: RouteRequest): Promise<RouteStream> {
  const answer = await route.handle(inputOf(route, request));
  if ('stream' in answer) return answer;
  throw new TypeError(`${route.verb} ${route.path} says that it streams, and does not`);
}

function inputOf({ scope }: GatewayRoute, request: RouteRequest): RouteInput<unknown> {
  const { values, query, body, call, handler } = request;
  const caller = scope === 'open' ? NOBODY : callerOf(call);
  if (scope !== 'open') caller.need(scope);
  return { values, query, body, call, handler, caller, header: (name) => request.header(name) };
}

function replyOf({ status, headers, body }: RouteAnswer): RouteReply {
  const asText = typeof body === 'string' && headers?.['content-type'] !== undefined;
  return {
    ...(status !== undefined && { status }),
    ...(headers && { headers }),
    ...(asText ? { text: body } : { body }),
  };
}
