/** The gateway's table of routes as the transport's: scopes are checked, failures are `{"error": "…"}`. */
import type { A2AError } from '../../protocol/index.ts';
import type { OwnRoute, RouteReply, RouteRequest, RouteStream } from '../../http/index.ts';
import { Caller, callerOf } from './caller.ts';
import type { GatewayRoute, RawInput, RouteAnswer } from './route.ts';

const WHERE_KEYS_GO = 'send a key as Authorization: Bearer KEY, or as x-api-key: KEY';

/** Who calls an open route. */
const NOBODY = new Caller({ workspace: '', actor: 'nobody', scopes: new Set() });

export function ownRoutes(routes: readonly GatewayRoute[]): OwnRoute[] {
  return routes.map((route): OwnRoute => {
    const { verb, path, scope } = route;
    const base = {
      verb,
      path,
      public: scope === 'open',
      error: (error: A2AError) => (route.error ? replyOf(route.error(error)) : describeOwn(error)),
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

/** What the gateway says of an error, wherever the protocol does not say it. */
export function describeOwn({ kind, httpStatus: status, message }: A2AError): RouteReply {
  const hint = kind === 'unauthenticated' ? `: ${WHERE_KEYS_GO}` : '';
  return { status, body: { error: message + hint } };
}

async function events(route: GatewayRoute, request: RouteRequest): Promise<RouteStream> {
  const answer = await route.handle(inputOf(route, request));
  if ('stream' in answer) return answer;
  throw new TypeError(`${route.verb} ${route.path} says that it streams, and does not`);
}

function inputOf({ scope }: GatewayRoute, request: RouteRequest): RawInput {
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
