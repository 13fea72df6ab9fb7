/** Answers a request to one of the agent's own routes. */
import type { A2AError, User } from '../protocol/index.ts';
import type { AppContext } from './context.ts';
import { activeExtensions, extensionHeader, requestedVersion } from './negotiate.ts';
import { clientOf, counted } from './pending-bytes.ts';
import type { RouteMatch, RouteReply, RouteRequest, RouteText } from './own-routes.ts';
import type { FullReply, Reply, TextReply, TransportRequest } from './request.ts';
import { errorHeaders, parseBody, streamReply, TransportCall } from './respond.ts';
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
    body: route.form === true ? new URLSearchParams(text) : parseBody(text),
    remote: request.remote,
    call,
    handler: app.handler,
    header: (name) => request.header(name),
  };
  if ('open' in route) return streamReply(app, request, call, headers, () => route.open(asked));
  const reply = await route.handle(asked);
  if ('chunks' in reply) return textReply(app, request, call, reply);
  return counted(app.pending, request, user, fullReply(reply, headers));
}

/** Makes a reply with text in chunks. The reply counts as an open stream, like a stream of events. */
function textReply(
  app: AppContext,
  request: TransportRequest,
  { user }: TransportCall,
  { headers, chunks }: RouteText,
): TextReply {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    const release = app.streams.acquire(clientOf(user, request));
    return { headers, chunks: iterator, release };
  } catch (error) {
    iterator.return?.().catch(() => undefined);
    throw error;
  }
}

/**
 * Returns the reply that `describe` makes for an error. If `describe` returns nothing, the reply has the protocol's
 * format.
 */
export function routeError(
  failure: A2AError,
  describe: AppContext['describe'],
  request: TransportRequest,
): FullReply {
  const described = describe?.(failure, request);
  if (!described) return restError(failure, '1.0', request);
  return fullReply({ status: failure.httpStatus, ...described }, errorHeaders(failure));
}

/** Converts the answer of a route. */
export function fullReply(
  { status = 200, headers: own, body, text, bytes }: RouteReply,
  more: Readonly<Record<string, string>> = {},
): FullReply {
  const headers = own ? { ...more, ...own } : more;
  if (body === undefined) return { status, headers, body: bytes ?? text ?? '' };
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}
