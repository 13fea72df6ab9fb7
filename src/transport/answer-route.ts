/** A request on one of the agent's own routes, and its answer. */
import { A2AError, inspectJson, type User } from '../protocol/index.ts';
import type { AppContext } from './context.ts';
import { activeExtensions, extensionHeader, requestedVersion } from './negotiate.ts';
import type { RouteMatch, RouteReply, RouteRequest } from './own-routes.ts';
import type { FullReply, Reply, TransportRequest } from './request.ts';
import { errorHeaders, streamReply, TransportCall } from './respond.ts';
import { restError } from './rest.ts';

export async function answerRoute(
  app: AppContext,
  request: TransportRequest,
  { route, values }: RouteMatch,
  query: URLSearchParams | undefined,
  user: User | undefined,
  text: string,
): Promise<Reply> {
  const version = requestedVersion(request, query, app.versions) ?? app.versions.at(-1) ?? '1.0';
  const extensions = activeExtensions(request, app, route.implies);
  const call = new TransportCall(request, user, version, extensions);
  const headers = extensionHeader(version, extensions);
  const asked: RouteRequest = {
    values,
    query: query ?? new URLSearchParams(),
    body: parseBody(text),
    call,
    handler: app.handler,
  };
  if ('open' in route) return streamReply(app, request, call, headers, () => route.open(asked));
  return jsonReply(await route.handle(asked), headers);
}

/** A failure on a route, in the route's words or the protocol's. */
export function routeError(
  failure: A2AError,
  { route }: RouteMatch,
  request: TransportRequest,
): FullReply {
  if (!route.error) return restError(failure, '1.0', request);
  const { status = failure.httpStatus, body } = route.error(failure);
  return jsonReply({ status, body }, errorHeaders(failure));
}

function jsonReply(
  { status = 200, body }: RouteReply,
  headers: Readonly<Record<string, string>> = {},
): FullReply {
  if (body === undefined) return { status, headers, body: '' };
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}

function parseBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new A2AError('parse');
  }
  inspectJson(body);
  return body;
}
