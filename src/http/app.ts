/**
 * Turns each HTTP request into a reply. The adapters (adapters/node.ts, adapters/fetch.ts) read the body, add the CORS
 * headers, and write the reply.
 *
 * The steps for a request are: check Host and Origin, find the route, authenticate, read the body, and run JSON-RPC,
 * REST or one of the agent's own routes.
 */
import { BoundedMap } from '../base/index.ts';
import {
  A2AError,
  CARD_PATHS,
  codecOf,
  type ProtocolVersion,
  type User,
} from '../protocol/index.ts';
import { answerRoute, fullReply, routeError } from './answer-route.ts';
import { type CardSigner, encodeCard, type EncodedCard } from './card.ts';
import type { AppContext } from './context.ts';
import { ifNoneMatch } from './etag.ts';
import { jwksReply, JWKS_PATH } from './jwks.ts';
import { answerJsonRpc, jsonRpcError } from './json-rpc.ts';
import { requestedVersion, spokenVersion } from './negotiate.ts';
import { mountAt, type MountedAgent, MountedRequest, type Mounts } from './mounts.ts';
import type { RouteMatch } from './own-routes.ts';
import type { FullReply, Reply, TransportRequest } from './request.ts';
import { peerError } from './respond.ts';
import { answerRest, matchRest, restError, type RestTarget } from './rest.ts';

/**
 * Answers a request. An error becomes an error reply. Rejects only if the server cannot recover its tasks. `readBody`
 * is called at most once. If the path requires authentication, `readBody` is called only after the authentication.
 */
export type App = (request: TransportRequest, readBody: ReadBody) => Promise<Reply>;

/**
 * Reads the body. `maxBytes` lowers the server's limit on the size of the body. The adapter for Node counts a large
 * body for the user, or for the client's address if `user` is undefined (`PendingBytes`).
 */
type ReadBody = (user: User | undefined, maxBytes?: number) => Promise<string>;

const WELL_KNOWN = '.well-known';
/** Maximum number of encoded cards of one agent in memory. There is one for each Host header and version. */
const MAX_CARDS = 64;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

type Identify = (request: TransportRequest) => User | undefined | Promise<User | undefined>;

type Endpoint = (
  request: TransportRequest,
  readBody: ReadBody,
  identify: Identify,
) => Promise<Reply>;

export function createApp(app: AppContext): App {
  const endpoint = createEndpoint(app);
  const identify: Identify = (request) => app.admission.identify(request);
  const { mounts } = app;
  if (!mounts) return (request, readBody) => endpoint(request, readBody, identify);
  const mounted = createMounts(app, mounts);
  return (request, readBody) => {
    const found = mountAt(mounts, request.url);
    if (found) return mounted(request, found, readBody);
    return endpoint(request, readBody, identify);
  };
}

/** Answers requests to mounted agents. The caller is authenticated before the agent is looked up. */
function createMounts(app: AppContext, mounts: Mounts) {
  const endpoints = new WeakMap<MountedAgent, Endpoint>();
  // A request is checked before its agent is looked up, so the agent's endpoint does not check it again.
  const admission = { ...app.admission, check: () => undefined };

  function endpointOf(agent: MountedAgent): Endpoint {
    let endpoint = endpoints.get(agent);
    if (!endpoint) {
      const cardAt = (base: string) => mounts.cardAt(agent, base);
      const extensions = agent.profile.extensions ?? [];
      const profile = () => agent.profile;
      const none = { methods: undefined, routes: undefined, home: undefined };
      const own = { ...none, mounts: undefined, describe: undefined, admission };
      endpoint = createEndpoint({ ...app, ...own, cardAt, extensions, profile });
      endpoints.set(agent, endpoint);
    }
    return endpoint;
  }

  /**
   * Answers a request whose path contains no agent name. If the path is that of a card, `MountOptions.unnamed` selects
   * the agent. Throws `notFound` for any other path, and if no agent is selected.
   */
  async function unnamedCard(outer: TransportRequest, user: User | undefined): Promise<Reply> {
    const { path } = mounts;
    const at = outer.url.indexOf('?');
    const isCard = CARD_PATHS.includes(outer.url.slice(path.length, at < 0 ? undefined : at));
    const name = isCard ? mounts.unnamed?.(user) : undefined;
    const agent = name === undefined ? undefined : await mounts.find(name, user);
    if (!agent) {
      throw new A2AError(
        'notFound',
        `This address contains no agent name. Use ${path}/NAME/ with a slash at the end, because some clients drop the part after the last slash`,
      );
    }
    const request = new MountedRequest(outer, path.length, `${path}/${name}`);
    return endpointOf(agent)(
      request,
      async () => '',
      () => user,
    );
  }

  return async (
    outer: TransportRequest,
    { name, length }: { readonly name: string; readonly length: number },
    readBody: ReadBody,
  ) => {
    const request = new MountedRequest(outer, length);
    const isRpc = request.method === 'POST' && /^\/(?:\?|$)/.test(request.url);
    try {
      app.admission.check(request);
      if (request.method === 'OPTIONS') return preflight(request);
      const identified = app.admission.identify(request);
      const user = identified instanceof Promise ? await identified : identified;
      if (name === WELL_KNOWN) return await unnamedCard(outer, user);
      const found = mounts.find(name, user);
      const agent = found instanceof Promise ? await found : found;
      if (!agent) {
        const unknown = new A2AError('notFound', 'No such agent');
        if (!isRpc) throw unknown;
        return await answerJsonRpc(app, request, undefined, user, await readBody(user), unknown);
      }
      return await endpointOf(agent)(request, readBody, () => user);
    } catch (error) {
      const failure = peerError(app, error);
      return isRpc
        ? jsonRpcError(failure, null, codecOf('1.0', 'JSONRPC'))
        : restError(failure, '1.0', request);
    }
  };
}

function createEndpoint(app: AppContext): Endpoint {
  const startedAt = new Date().toUTCString();
  // The cards are cached, because signing a card takes time. A client may send many different Host headers. So if the
  // cache is full, the least recently used card is replaced.
  const cards = new BoundedMap<EncodedCard>(MAX_CARDS);
  let cardsOf: object | undefined;

  function cardReply(request: TransportRequest, query: URLSearchParams | undefined): FullReply {
    // Clients read the supported versions from the card, so a request with an unsupported version gets the card too.
    const version = spokenVersion(request, query, app.versions);
    const profile = app.profile();
    if (profile !== cardsOf) cards.clear();
    cardsOf = profile;
    const key = `${version} ${request.base}`;
    let card = cards.get(key);
    if (!card) {
      const signer = app.signsCards ? signerOf(app, request) : undefined;
      if (signer) app.signedHosts.check(signer.jku, request.remote);
      card = encodeCard(app.cardAt(request.base), version, app.versions, signer);
      cards.set(key, card);
    }
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      // The card of a mounted agent is only for callers who may use the agent.
      'cache-control': `${request.mount === undefined ? 'public' : 'private'}, max-age=60`,
      etag: card.etag,
      'last-modified': startedAt,
      // Web pages need the CORS headers, which depend on the Origin.
      vary: 'A2A-Version, Host, Origin',
    };
    const known = ifNoneMatch(request.header('if-none-match'), card.etag);
    return known ? { status: 304, headers, body: '' } : { status: 200, headers, body: card.body };
  }

  return async (request, readBody, identify) => {
    const { method, url } = request;
    const at = url.indexOf('?');
    const path = (at < 0 ? url : url.slice(0, at)) || '/';
    const query = at < 0 ? undefined : new URLSearchParams(url.slice(at + 1));
    const isRpc = path === '/' && method === 'POST';
    let own: RouteMatch | undefined;
    let target: RestTarget | undefined;
    let isProtocol = false;
    try {
      app.admission.check(request);
      if (method === 'OPTIONS') return preflight(request);
      const isCard = CARD_PATHS.includes(path);
      const isRead = method === 'GET' || method === 'HEAD';
      if (isCard || (path === JWKS_PATH && request.mount === undefined)) {
        if (!isRead) return notAllowed(app, request, ['GET', 'HEAD']);
        return isCard ? cardReply(request, query) : jwksReply(app.signing, request);
      }
      if (path === '/' && isRead) {
        const page = app.home?.(request);
        return page ? fullReply(page) : greeting(app, request);
      }
      if (path === '/' && !isRpc) return notAllowed(app, request, ['GET', 'HEAD', 'POST']);
      const ours = isRpc ? undefined : app.routes?.match(method, path);
      if (ours && 'route' in ours) {
        own = ours;
      } else if (!isRpc) {
        const found = matchRest(method, path);
        if (found && 'allow' in found) {
          const allow = new Set([...found.allow, ...(ours?.allow ?? [])]);
          return notAllowed(app, request, [...allow], found.version);
        }
        if (!found && ours) return notAllowed(app, request, ours.allow);
        // Until the version is chosen, errors have the format of the path's version.
        isProtocol = found !== undefined;
        target = found;
        target = restVersion(app, request, query, found);
      }
      const identified = own?.route.public === true ? undefined : identify(request);
      const user = identified instanceof Promise ? await identified : identified;
      const hasBody = WITH_BODY.has(method);
      if (hasBody && own?.route.form !== true) checkContentType(request);
      const body = hasBody ? await readBody(user, own?.route.maxBodyBytes) : '';
      if (isRpc) return await answerJsonRpc(app, request, query, user, body);
      if (own) return await answerRoute(app, request, own, query, user, body);
      if (!target) throw new A2AError('methodNotFound', 'Nothing is served at this path');
      return await answerRest(app, request, target, query ?? new URLSearchParams(), user, body);
    } catch (error) {
      const failure = peerError(app, error);
      const reply = isRpc
        ? jsonRpcError(failure, null, codecOf('1.0', 'JSONRPC'))
        : target
          ? restError(failure, target.version, request)
          : routeError(failure, isProtocol ? undefined : describer(app, own), request);
      return failure.kind === 'contentTypeNotSupported' ? { ...reply, status: 415 } : reply;
    }
  };
}

/** Returns the signer of a card. The key set is published only at the root, so its URL has no mount path. */
function signerOf({ signing }: AppContext, { base, mount = '' }: TransportRequest): CardSigner {
  return { keys: signing, jku: base.slice(0, base.length - mount.length) + JWKS_PATH };
}

const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Returns the function that formats an error on a path outside the protocol. This function is the route's `error`. If
 * the route has none, it is the server's option `describe`, which may be undefined.
 */
function describer({ describe }: AppContext, own?: RouteMatch): AppContext['describe'] {
  const route = own?.route;
  return route?.error ? (error, request) => route.error?.(error, request) : describe;
}

/**
 * Returns the target in the requested version, or in the version of its path if the request names no version. A request
 * may select 0.3 on a path of 1.0. Throws if the server does not support the requested version. Returns undefined in
 * these cases:
 *
 * - There is no target.
 * - The request selects 1.0 on a path of 0.3.
 * - The request names no version, and the server does not support the version of the path.
 */
function restVersion(
  app: AppContext,
  request: TransportRequest,
  query: URLSearchParams | undefined,
  target: RestTarget | undefined,
): RestTarget | undefined {
  const asked = requestedVersion(request, query, app.versions);
  if (!target) return undefined;
  if (target.version === '0.3' && asked === '1.0') return undefined;
  const version = asked ?? target.version;
  return app.versions.includes(version) ? { ...target, version } : undefined;
}

function checkContentType(request: TransportRequest): void {
  const type = request.header('content-type');
  if (type !== undefined && type !== '' && !JSON_TYPE.test(type)) {
    throw new A2AError('contentTypeNotSupported', 'The content type must be application/json');
  }
}

const USUAL_HEADERS =
  'content-type, authorization, x-api-key, a2a-version, a2a-extensions, x-a2a-extensions, last-event-id, if-match, if-none-match';
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]{1,2048}$/;

/**
 * Answers a CORS preflight request. All requested headers are allowed, because the origin was already checked, and
 * vendors' SDKs send headers of their own (`anthropic-version`, `x-goog-api-key`, `x-stainless-os` …). If the list of
 * requested headers is missing, invalid or too long, the usual headers are allowed.
 */
function preflight(request: TransportRequest): FullReply {
  const asked = request.header('access-control-request-headers') ?? '';
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': HEADER_NAMES.test(asked) ? asked : USUAL_HEADERS,
      'access-control-max-age': '600',
    },
    body: '',
  };
}

function notAllowed(
  app: AppContext,
  request: TransportRequest,
  allow: readonly string[],
  version?: ProtocolVersion,
): FullReply {
  const error = new A2AError('verbNotAllowed');
  const reply = version
    ? restError(error, version, request)
    : routeError(error, describer(app), request);
  return { ...reply, headers: { ...reply.headers, allow: allow.join(', ') } };
}

/** Returns the text for a person who opens the address in a browser. */
function greeting(app: AppContext, request: TransportRequest): FullReply {
  const { name, description, security = [] } = app.cardAt(request.base);
  const key = security.length > 0 ? ` --header 'Authorization: Bearer …'` : '';
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: `${name}: ${description}\n\nThis is an A2A agent. Its card: ${request.base}/.well-known/agent-card.json\nTalk to it: parley send ${request.base} "hello"${key}\n`,
  };
}
