/**
 * Who gets in: Host and Origin are checked first, then the caller is authenticated. Both happen before the body is
 * read.
 *
 * On loopback there is often no authentication, and any web page can make a browser talk to 127.0.0.1. What tells it
 * from a program of the user's is Origin (the page's) and, after a rebinding of its host name, Host.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { A2AError, type User } from '../protocol/index.ts';
import type { TransportRequest } from './request.ts';

/** Who is asking? Undefined: nobody that is known. Must not throw on a bad credential. */
export type Authenticate = (
  request: Pick<TransportRequest, 'header' | 'method' | 'url' | 'remote' | 'mount'>,
) => User | undefined | Promise<User | undefined>;

export interface AdmissionOptions {
  readonly authenticate?: Authenticate | undefined;
  /** Origins of web pages that may call: off unless configured. */
  readonly corsOrigins?: readonly string[] | undefined;
  readonly publicUrl?: string | undefined;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;
const LOOPBACK_ADDRESS = /^(?:::1$|(?:::ffff:)?127\.)/i;

/** Whether an IP address is this machine's own. */
export function isLoopbackAddress(address: string): boolean {
  return LOOPBACK_ADDRESS.test(address);
}

export interface Admission {
  /** Throws `forbidden` for a Host or Origin that has no business here. */
  check(request: TransportRequest): void;
  /** The caller. Throws `unauthenticated`. A promise only where `authenticate` makes one. */
  identify(request: TransportRequest): User | undefined | Promise<User | undefined>;
  /** The CORS headers of a response to this request. */
  cors(request: TransportRequest): Record<string, string>;
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { authenticate, corsOrigins = [] } = options;
  const publicHosts = options.publicUrl ? hostsOf(new URL(options.publicUrl)) : [];
  /** The host that was let in last: the next request nearly always has the same. */
  let lastHost: string | undefined;

  function checkHost(request: TransportRequest): void {
    if (!request.local) return;
    const host = request.header('host') ?? '';
    if (host === lastHost) return;
    if (!LOOPBACK.test(host) && !publicHosts.includes(host.toLowerCase())) {
      throw new A2AError('forbidden', 'This host name is not served here');
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
      checkHost(request);
      const origin = request.header('origin');
      if (origin !== undefined && !originAllowed(request, origin)) {
        throw new A2AError('forbidden', 'Web pages of this origin may not call this agent');
      }
    },
    identify(request) {
      if (!authenticate) return undefined;
      const { method, url, remote, mount } = request;
      // A plain object: whoever writes `({ header }) => …` is not to lose `this`.
      const header = (name: string) => request.header(name);
      const user = authenticate({ method, url, remote, mount, header });
      return user instanceof Promise ? user.then(known) : known(user);
    },
    cors(request): Record<string, string> {
      const origin = request.header('origin');
      if (origin === undefined || !originAllowed(request, origin)) return {};
      return {
        'access-control-allow-origin': origin,
        'access-control-expose-headers':
          'a2a-extensions, x-a2a-extensions, etag, location, retry-after, www-authenticate',
        vary: 'Origin',
      };
    },
  };
}

/** How a Host header may say it, in lower case: the port that a scheme has by default may be there or not. */
function hostsOf({ host, port, protocol }: URL): readonly string[] {
  return port === '' ? [host, `${host}:${protocol === 'https:' ? 443 : 80}`] : [host];
}

/** Compares secrets in a time that does not depend on where they differ. */
export function sameSecret(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Authenticates by bearer tokens: each name is a user. */
export function bearerTokens(tokens: ReadonlyMap<string, string>): Authenticate {
  return (request) => {
    const [scheme, token] = (request.header('authorization') ?? '').split(' ', 2);
    if (scheme?.toLowerCase() !== 'bearer' || !token) return undefined;
    let found: User | undefined;
    // All are compared, so that the time does not tell which one matched.
    for (const [name, secret] of tokens) if (sameSecret(token, secret)) found = { id: name };
    return found;
  };
}
