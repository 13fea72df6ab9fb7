/** Makes a client from an agent's address. */
import { systemCode } from '../base/index.ts';
import { AddressError, fetchNamedBy, isNamedFreely, networkGuard } from '../base/net/index.ts';
import {
  codecOf,
  withPreparedCalls,
  type AgentCard,
  type AgentService,
} from '../protocol/index.ts';
import { createClient, type AgentClient } from './client.ts';
import {
  chooseAmong,
  discover,
  hasOriginOf,
  isGrpc,
  notPublic,
  restrictToOrigins,
  untrusted,
  type ChosenEndpoint,
  type FoundCard,
  type DiscoverOptions,
} from './connection/discover.ts';
import { ConnectionError } from './connection/errors.ts';
import { httpService } from './connection/http.ts';
import type { RetryOptions } from './follow/retry.ts';

/** The options of `connect`. */
export interface ConnectOptions extends DiscoverOptions {
  /** The agent's card. If it is undefined, the card is fetched. A given card is not verified. */
  readonly card?: AgentCard | undefined;
  /**
   * Additional origins that may receive `headers`, for example `https://api.example`. By default, only the origin of
   * the address receives them. If there are headers, but the card has no interface at an allowed origin, `connect`
   * throws a ConnectionError with the reason `untrusted`.
   */
  readonly trustedOrigins?: readonly string[] | undefined;
  /** The options for the reconnection of streams. */
  readonly retry?: RetryOptions | undefined;
}

/** A client of a remote agent, with its endpoint. */
export interface RemoteAgentClient extends AgentClient {
  readonly endpoint: ChosenEndpoint;
}

/**
 * Fetches the agent's card, chooses the best interface that both sides support, and returns a client for it.
 *
 *   const agent = await connect('https://agent.example', { headers: { Authorization: `Bearer ${token}` } });
 */
export async function connect(
  url: string | URL,
  options: ConnectOptions = {},
): Promise<RemoteAgentClient> {
  const address = String(url);
  const found = options.card
    ? { card: options.card, url: address }
    : await discover(address, options);
  const { service, endpoint } = await openService(address, found, options);
  const { retry, signal } = options;
  return Object.assign(createClient(service, { card: found.card, retry, signal }), { endpoint });
}

/**
 * Chooses the best interface in the card, and returns a service for it. The gRPC client is loaded only if gRPC is the
 * best choice.
 *
 * An interface is trusted if its origin is the origin of `address` or is in `trustedOrigins`. The agent chooses the
 * address of any other interface. So there are two rules for an interface that is not trusted:
 *
 * - It receives no headers.
 * - Its address must not be in a private network, unless it has the host of `address`, or both addresses are on this
 *   machine. This rule does not apply in browsers, which have rules of their own. It also does not apply to an HTTP
 *   interface if the caller gives a `fetch`.
 */
export async function openService(
  address: string,
  offered: FoundCard,
  options: ConnectOptions = {},
): Promise<{ readonly service: AgentService; readonly endpoint: ChosenEndpoint }> {
  const { headers = {}, trustedOrigins = [] } = options;
  const trusted = [address, ...trustedOrigins.map(originOf)];
  const hasHeaders = typeof headers === 'function' || Object.keys(headers).length > 0;
  const found = hasHeaders ? restrictToOrigins(trusted, offered) : offered;
  const grpc = await loadGrpc(found, options);
  const endpoint = chooseAmong(found, options, grpc !== undefined);
  const isTrusted = hasOriginOf(trusted, endpoint.url);
  const refusal = () => untrusted(trusted, [new URL(endpoint.url).origin]);
  if (grpc && endpoint.binding === 'GRPC') {
    const isFree = isTrusted || isNamedFreely(address, endpoint.url);
    const guard = isFree ? undefined : networkGuard();
    const service = grpc.grpcService(endpoint, { ...options, guard });
    return { service: isTrusted ? service : withoutHeaders(service, refusal), endpoint };
  }
  const codec = codecOf(endpoint.version, endpoint.binding);
  if (isTrusted) {
    return { service: httpService(endpoint, codec, options), endpoint };
  }
  const { fetch = isNode() ? guardedFor(address) : undefined } = options;
  const service = httpService(endpoint, codec, { ...options, fetch });
  return { service: withoutHeaders(service, refusal), endpoint };
}

type GrpcClient = typeof import('./grpc/index.ts');

/**
 * Loads the gRPC client if gRPC is the best choice in the card. Returns undefined if it is not, and in browsers.
 *
 * - If the packages of gRPC are not installed, returns undefined, so that another interface is used. Throws if the card
 *   has no other interface, or if the caller asks for gRPC.
 * - A caller's own `fetch` may check addresses or use a proxy, but gRPC does not use `fetch`. So if the caller gives a
 *   `fetch`, gRPC is used only if the caller also asks for gRPC.
 */
export async function loadGrpc(
  found: FoundCard,
  options: ConnectOptions = {},
): Promise<GrpcClient | undefined> {
  const isAsked = options.binding === 'GRPC';
  if (!isNode() || !found.card.supportedInterfaces.some(isGrpc) || (options.fetch && !isAsked))
    return undefined;
  if (chooseAmong(found, options, true).binding !== 'GRPC') return undefined;
  try {
    return await import('./grpc/index.ts');
  } catch (error) {
    if (systemCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    const others = found.card.supportedInterfaces.some((offer) => !isGrpc(offer));
    if (others && !isAsked) return undefined;
    const why =
      'gRPC needs packages that are not installed: run npm install @connectrpc/connect-node @connectrpc/connect @bufbuild/protobuf';
    throw new ConnectionError('interface', why, { cause: error });
  }
}

/** Returns a `fetch` for an interface at another origin. It throws a ConnectionError if the address is not allowed. */
function guardedFor(address: string): typeof globalThis.fetch {
  const fetch = fetchNamedBy(address, { timeoutMs: 0 });
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      const { origin } = new URL(input instanceof Request ? input.url : input);
      throw notPublic(origin, error);
    }
  };
}

function originOf(text: string): string {
  const { origin = 'null' } = URL.parse(text) ?? {};
  if (origin !== 'null') return origin;
  throw new TypeError(`trustedOrigins: "${text}" is not an origin, such as https://api.example`);
}

function isNode(): boolean {
  return typeof process === 'object' && typeof process.getBuiltinModule === 'function';
}

/** Wraps a service so that it refuses calls with headers. */
function withoutHeaders(service: AgentService, refusal: () => Error): AgentService {
  return withPreparedCalls(service, (_operation, params, { headers = {} } = {}) => {
    if (Object.keys(headers).length > 0) throw refusal();
    return params;
  });
}
