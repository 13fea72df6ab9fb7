/**
 * Checks Host and Origin, then authenticates the caller. Both steps are done before the body is read.
 *
 * Servers on loopback often have no authentication, but any web page can make a browser send requests to 127.0.0.1.
 * Such a request has the Origin of the page or, after DNS rebinding, the Host of the page.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { A2AError, type User } from '../protocol/index.ts';
import type { TransportRequest } from './request.ts';

/** Returns the user of a request, or undefined if the user is unknown. Must not throw if the credential is invalid. */
export type Authenticate = (
  request: Pick<
    TransportRequest,
    'header' | 'method' | 'url' | 'remote' | 'local' | 'mount' | 'connection'
  >,
) => User | undefined | Promise<User | undefined>;

type AuthenticatedFields = Parameters<Authenticate>[0];

export interface AdmissionOptions {
  readonly authenticate?: Authenticate | undefined;
  /** Origins of the web pages of other servers that may call this server, or `*` for all. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  readonly publicUrl?: string | undefined;
  /** Whether requests through a proxy on this machine are accepted without authentication. */
  readonly trustProxy?: boolean | undefined;
  /**
   * Returns the Host headers that are accepted in addition to the host of `publicUrl`, or undefined if every valid Host
   * header is accepted. Used only for requests that did not arrive over loopback. The headers are restricted, because a
   * name that an attacker controls could lead a browser to this server.
   */
  readonly networkHosts?: (() => ReadonlySet<string> | undefined) | undefined;
}

/** The headers that proxies add to a request. */
const PROXY_HEADERS = [
  'x-forwarded-for',
  'forwarded',
  'via',
  'x-real-ip',
  'x-forwarded-host',
  'x-forwarded-proto',
];

/** Returns the name of a proxy's header in the request, or undefined if the request has no such header. */
export function proxyHeader(request: Pick<TransportRequest, 'header'>): string | undefined {
  // This runs for every request, so it creates no function.
  for (const name of PROXY_HEADERS) if (request.header(name) !== undefined) return name;
  return undefined;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;
/** Maximum length of a Host header: the longest DNS name, with a dot at the end and a port. */
const MAX_HOST_CHARS = 260;
/**
 * A name or an address, with or without a port. The Host header is used in the URLs of a card, so no other text is
 * allowed.
 */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
const LOOPBACK_ADDRESS = /^(?:::1$|(?:::ffff:)?127\.)/i;

/** Returns whether an IP address is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK_ADDRESS.test(address);
}

export interface Admission {
  /**
   * Throws `forbidden` if the Host or the Origin is not allowed. Throws `invalidRequest` if the Host is too long, or if
   * a header that may occur only once is repeated. If every valid Host is accepted, also throws `invalidRequest` for a
   * malformed Host.
   */
  check(request: TransportRequest): void;
  /**
   * Returns the caller, or undefined if the server does not authenticate. Throws `unauthenticated` if the caller is
   * unknown. Without authentication, throws `forbidden` for a request from another machine if `publicUrl` is not set.
   * Also throws it for a local request that came through a proxy if `trustProxy` is not set. Returns a promise only if
   * `authenticate` does.
   */
  identify(request: TransportRequest): User | undefined | Promise<User | undefined>;
  /** Returns the CORS headers for the response to this request. */
  cors(request: TransportRequest): Record<string, string>;
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { authenticate, corsOrigins = [] } = options;
  const publicHosts = options.publicUrl ? hostsOf(new URL(options.publicUrl)) : [];
  /** The last Host header that was allowed over loopback. The next request usually has the same Host header. */
  let lastHost: string | undefined;

  function checkHost(request: TransportRequest): void {
    const given = request.header('host');
    const host = given ?? '';
    // The URLs in the card are made from this header, and a longer card takes more time to sign.
    if (host.length > MAX_HOST_CHARS) {
      throw new A2AError('invalidRequest', 'The Host header is too long');
    }
    const allowed = request.local ? undefined : options.networkHosts?.();
    if (allowed?.has(host.toLowerCase())) return;
    if (allowed && !publicHosts.includes(host.toLowerCase()))
      throw new A2AError('forbidden', 'The Host header is not allowed here');
    if (host === lastHost) return;
    if (!request.local) {
      // A request of HTTP/1.0 may have no Host header.
      if (given === undefined || HOST.test(host)) return;
      throw new A2AError('invalidRequest', 'The Host header is not a valid host name');
    }
    if (!LOOPBACK.test(host) && !publicHosts.includes(host.toLowerCase())) {
      throw new A2AError('forbidden', 'The Host header is not allowed here');
    }
    lastHost = host;
  }

  function originAllowed(request: TransportRequest, origin: string): boolean {
    if (corsOrigins.includes(origin) || corsOrigins.includes('*')) return true;
    const host = request.header('host');
    return origin === `http://${host}` || origin === `https://${host}`;
  }

  function known(user: User | undefined): User {
    if (!user) throw new A2AError('unauthenticated');
    return user;
  }

  return {
    check(request) {
      // A proxy may have checked one of the values, while this server would use another one.
      if (request.repeated !== undefined) {
        throw new A2AError('invalidRequest', `The header ${request.repeated} must occur only once`);
      }
      checkHost(request);
      const origin = request.header('origin');
      if (origin !== undefined && !originAllowed(request, origin)) {
        throw new A2AError('forbidden', 'The Origin header is not allowed here');
      }
    },
    identify(request) {
      if (!authenticate) {
        if (!request.local) refuseOthers(request, options.publicUrl);
        else if (!options.trustProxy) refuseProxied(proxyHeader(request));
        return undefined;
      }
      const user = authenticate(new AuthenticationRequest(request));
      return user instanceof Promise ? user.then(known) : known(user);
    },
    cors(request): Record<string, string> {
      const origin = request.header('origin');
      if (origin === undefined || !originAllowed(request, origin)) return {};
      return {
        'access-control-allow-origin': origin,
        'access-control-expose-headers':
          'a2a-extensions, x-a2a-extensions, etag, location, request-id, retry-after, www-authenticate',
        vary: 'Origin',
      };
    },
  };
}

/**
 * The request that `authenticate` gets. `header` is an arrow function, so that `authenticate` can destructure its
 * parameter: `({ header }) => …`. This is a class, because an object with getters takes twenty times as long to create.
 */
class AuthenticationRequest implements AuthenticatedFields {
  readonly #request: TransportRequest;
  readonly header: TransportRequest['header'] = (name) => this.#request.header(name);

  constructor(request: TransportRequest) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.url;
  }

  get remote(): string {
    return this.#request.remote;
  }

  get local(): boolean {
    return this.#request.local;
  }

  get mount(): string | undefined {
    return this.#request.mount;
  }

  get connection(): TransportRequest['connection'] {
    return this.#request.connection;
  }
}

/**
 * Throws if a request without authentication came from another machine and there is no `publicUrl`. Accepts requests
 * from an unknown address. The address is unknown on a Unix socket, and if the caller of a fetch handler does not
 * provide it.
 */
function refuseOthers({ remote }: TransportRequest, publicUrl: string | undefined): void {
  if (remote === '' || publicUrl !== undefined) return;
  throw new A2AError(
    'forbidden',
    'This server has no authentication, so it answers only requests over loopback. Set `authenticate`, or `publicUrl` if everybody may use it',
  );
}

/** Throws if a request without authentication has a header of a proxy, because any machine may be behind the proxy. */
function refuseProxied(header: string | undefined): void {
  if (header === undefined) return;
  throw new A2AError(
    'forbidden',
    `The request came through a proxy (it has the header ${header}), and this server has no authentication. Start it with a token or keys, or with --trust-proxy if the proxy authenticates its callers`,
  );
}

/**
 * Returns the Host headers that match a URL, in lower case. If the URL has the default port of its scheme, there are
 * two headers: one without the port and one with it.
 */
export function hostsOf({ host, port, protocol }: URL): readonly string[] {
  return port === '' ? [host, `${host}:${protocol === 'https:' ? 443 : 80}`] : [host];
}

/** Compares secrets in constant time. */
export function sameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Returns the token of an Authorization header, or undefined if the header is not exactly `Bearer` and a token. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

/** Authenticates callers by their bearer token. `tokens` has the token of each user, by user name. */
export function bearerTokens(tokens: ReadonlyMap<string, string>): Authenticate {
  return (request) => {
    const token = bearerOf(request.header('authorization'));
    if (token === undefined) return undefined;
    let found: User | undefined;
    // Compare with all tokens, so that the time does not reveal which token matched.
    for (const [name, secret] of tokens) if (sameSecret(token, secret)) found = { id: name };
    return found;
  };
}
