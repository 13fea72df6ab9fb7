/** Fetches an agent's card, and chooses the interface to use. */
import { trimEndOf } from '../../base/index.ts';
import {
  A2AError,
  CARD_PATHS,
  v1,
  VERSIONS,
  versionOf,
  type AgentCard,
  type AgentInterface,
  type Binding,
  type ProtocolVersion,
} from '../../protocol/index.ts';
import type { Endpoint } from './binding.ts';
import { ConnectionError, quote } from './errors.ts';
import type { HttpOptions } from './http.ts';
import { credentialOrigin, fetchJson } from './request.ts';
import { checkTrust, verifyCard, type CardTrust } from './verify-card.ts';

/** The version and the binding that `connect` and `choose` must use. */
export interface Preference {
  /** The only allowed protocol version. Default: all versions. */
  readonly version?: ProtocolVersion | undefined;
  /** The only allowed binding. Default: all bindings. */
  readonly binding?: Binding | undefined;
}

/** The options of `discover`. */
export interface DiscoverOptions extends HttpOptions, Preference {
  /**
   * The trusted keys. `discover` throws a CardSignatureError for a card that is not signed with one of them. By
   * default, signatures are not verified.
   */
  readonly verify?: CardTrust | undefined;
}

/** A card and its address. Relative URLs in the card are resolved against this address. */
export interface FoundCard {
  readonly card: AgentCard;
  readonly url: string;
}

const MAX_CARD_BYTES = 2 ** 20;
const CARD_TIMEOUT_MS = 30_000;

/**
 * Looks for the card below the address, and then at the origin of the address. An address that ends in `.json` is the
 * address of the card itself. A card at the origin is used only if one of its interfaces is at the path of the address
 * or below it. Without this rule, a request for a missing agent behind a gateway would return the card of the gateway.
 * Throws if no card is found.
 *
 *   const { card } = await discover('https://agent.example');
 */
export async function discover(url: string, options: DiscoverOptions = {}): Promise<FoundCard> {
  if (options.verify !== undefined) checkTrust(options.verify);
  const failures: string[] = [];
  for (const place of cardPlaces(url)) {
    try {
      const found = await fetchCard(place.url, options);
      if (leadsTo(place.path, found)) return found;
      const [first] = found.card.supportedInterfaces;
      const where = first === undefined ? 'an unknown address' : quote(first.url);
      failures.push(`${place.url} (the card of ${quote(found.card.name)}, which is at ${where})`);
    } catch (error) {
      // Try the next place, unless the error would be the same there.
      if (!(error instanceof A2AError) || STOPS.has(error.kind)) throw error;
      failures.push(`${place.url} (${error.message})`);
    }
  }
  throw new ConnectionError('card', `no agent card at ${failures.join(', nor at ')}`);
}

const STOPS: ReadonlySet<string> = new Set([
  'unauthenticated',
  'forbidden',
  'rateLimited',
  'unavailable',
]);

interface CardPlace {
  readonly url: string;
  /** One of the card's interfaces must be at this path or below it. If the path is empty, every card is accepted. */
  readonly path: string;
}

function cardPlaces(address: string): CardPlace[] {
  if (!URL.canParse(address) || !/^https?:/i.test(address)) {
    throw new ConnectionError('unreachable', `not an HTTP address: ${address}`);
  }
  const url = new URL(address);
  if (url.username !== '' || url.password !== '') {
    const why = `the address of ${url.host} contains credentials: pass them as headers instead`;
    throw new ConnectionError('unreachable', why);
  }
  url.hash = '';
  if (url.pathname.endsWith('.json')) return [{ url: url.href, path: '' }];
  const path = trimEndOf(url.pathname, '/');
  const under = CARD_PATHS.map((name) => ({ url: url.origin + path + name, path: '' }));
  if (path === '') return under;
  return [...under, ...CARD_PATHS.map((name) => ({ url: url.origin + name, path }))];
}

/** Returns whether one of the card's interfaces is at the path or below it. */
function leadsTo(path: string, { card, url }: FoundCard): boolean {
  if (path === '') return true;
  return card.supportedInterfaces.some((offer) =>
    `${interfaceUrl(offer, url)?.pathname ?? ''}/`.startsWith(`${path}/`),
  );
}

function fetchCard(url: string, options: DiscoverOptions): Promise<FoundCard> {
  const { timeoutMs = 0, maxResponseBytes = MAX_CARD_BYTES, verify } = options;
  const { headers, fetch, signal, budget } = options;
  const request = {
    url,
    headers,
    // A server that has one card per version uses this header to choose the card.
    ownHeaders: { Accept: 'application/json', 'A2A-Version': options.version ?? '1.0' },
    maxBytes: Math.min(maxResponseBytes, MAX_CARD_BYTES),
    timeoutMs: timeoutMs > 0 ? Math.min(timeoutMs, CARD_TIMEOUT_MS) : CARD_TIMEOUT_MS,
    fetch,
    signal,
    budget,
  };
  return fetchJson(request, async (raw, found, within) => {
    // Each codec reads the cards of both versions, and also cards that combine both formats.
    if (verify === undefined) return { card: v1.decodeCard(raw), url: found };
    const { card } = await verifyCard(raw, found, verify, { fetch, signal: within });
    return { card, url: found };
  });
}

/** The supported versions, best first. */
const NEWEST_FIRST: readonly ProtocolVersion[] = VERSIONS.toReversed();
/** The bindings that need no other package, best first. */
const HTTP_BINDINGS: readonly Binding[] = ['JSONRPC', 'HTTP+JSON'];

/** The URL, the binding and the version that were chosen from an agent's card. */
export interface ChosenEndpoint extends Endpoint {
  readonly version: ProtocolVersion;
}

/**
 * Chooses the best interface in the card that this client supports and `preference` allows. The interface may be at any
 * origin, so check its URL before you send credentials to it. `connect` does this.
 *
 *   const endpoint = choose(await discover(url), { version: '1.0' });
 */
export function choose(found: FoundCard, preference: Preference = {}): ChosenEndpoint {
  return chooseAmong(found, preference, false);
}

/**
 * Does the same as `choose`. If `grpc` is true, gRPC is also possible. Among the interfaces of one version, gRPC is the
 * first choice if the card lists it first. Otherwise, gRPC is the last choice.
 */
export function chooseAmong(
  { card, url }: FoundCard,
  preference: Preference,
  grpc: boolean,
): ChosenEndpoint {
  for (const version of NEWEST_FIRST) {
    if (preference.version !== undefined && preference.version !== version) continue;
    const offers = card.supportedInterfaces.filter(
      ({ protocolVersion }) => versionOf(protocolVersion) === version,
    );
    for (const binding of bindingsFor(offers, grpc)) {
      if (preference.binding !== undefined && preference.binding !== binding) continue;
      for (const offer of offers) {
        if (bindingOf(offer) !== binding) continue;
        const target = resolve(offer, url);
        if (target) return { url: target, version, binding, tenant: offer.tenant };
      }
    }
  }
  const wanted = [preference.version, preference.binding].filter(Boolean).join(' ');
  const offers = card.supportedInterfaces.map(
    (offer) => `${offer.protocolVersion} ${offer.protocolBinding} at ${offer.url}`,
  );
  throw new ConnectionError(
    'interface',
    `${quote(card.name)} has no interface that ${wanted ? `matches ${wanted}` : 'this client supports'}: ${quote(offers.join(', '))}`,
  );
}

function bindingsFor([first]: readonly AgentInterface[], grpc: boolean): readonly Binding[] {
  if (!grpc) return HTTP_BINDINGS;
  const isFirst = first !== undefined && isGrpc(first);
  return isFirst ? ['GRPC', ...HTTP_BINDINGS] : [...HTTP_BINDINGS, 'GRPC'];
}

function bindingOf({ protocolBinding }: AgentInterface): string {
  return protocolBinding.toUpperCase();
}

export function isGrpc(offer: AgentInterface): boolean {
  return bindingOf(offer) === 'GRPC';
}

/**
 * Returns the URL of an interface, or null if it is invalid. For gRPC, most cards have only a host and a port. The
 * scheme is then the scheme of the card's own address.
 */
export function interfaceUrl(offer: AgentInterface, base: string): URL | null {
  if (isGrpc(offer) && !offer.url.includes('://')) {
    return URL.parse(`${new URL(base).protocol}//${offer.url}`);
  }
  return URL.parse(offer.url, base);
}

/**
 * Returns the interface's address. Returns undefined if the address is not HTTP, if it contains credentials, or if it
 * is plain HTTP although the card came over HTTPS.
 */
function resolve(offer: AgentInterface, base: string): string | undefined {
  const target = interfaceUrl(offer, base);
  if (!target || target.username !== '' || target.password !== '') return undefined;
  const allowed = base.startsWith('https:') ? ['https:'] : ['https:', 'http:'];
  return allowed.includes(target.protocol) ? target.href : undefined;
}

/** Returns whether the URL has the origin of one of the addresses. */
export function hasOriginOf(addresses: readonly string[], url: string): boolean {
  const origin = credentialOrigin(new URL(url));
  return addresses.some((address) => credentialOrigin(new URL(address)) === origin);
}

/**
 * Returns the card with only the interfaces at the origins of these addresses. Other interfaces must not receive our
 * credentials. Throws if no interface remains.
 */
export function restrictToOrigins(
  addresses: readonly string[],
  { card, url }: FoundCard,
): FoundCard {
  const supportedInterfaces = card.supportedInterfaces.filter((offer) => {
    const target = interfaceUrl(offer, url);
    return target !== null && hasOriginOf(addresses, target.href);
  });
  if (supportedInterfaces.length > 0) return { card: { ...card, supportedInterfaces }, url };
  throw untrusted(
    addresses,
    card.supportedInterfaces.map((offer) => interfaceUrl(offer, url)?.origin ?? offer.url),
  );
}

/** Returns the error for an address in a private network that an untrusted card names. */
export function notPublic(address: string, cause: unknown): ConnectionError {
  return new ConnectionError(
    'untrusted',
    `the agent's card leads to ${address}, which is not a public address; if you trust it, add this origin to trustedOrigins`,
    { cause },
  );
}

/** Returns the error for credentials that would be sent to an origin that is not trusted. */
export function untrusted(
  addresses: readonly string[],
  origins: readonly string[],
): ConnectionError {
  const trusted = [...new Set(addresses.map((address) => new URL(address).origin))];
  const others = quote([...new Set(origins)].join(', '));
  return new ConnectionError(
    'untrusted',
    `the agent's card leads to ${others}, but only ${trusted.join(', ')} may receive the credentials; to change this, add the other origin to trustedOrigins`,
  );
}
