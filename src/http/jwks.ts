/** Publishes the server's public keys as a JWK set (RFC 7517), so that peers can verify webhooks and agent cards. */
import type { SigningKeys } from '../base/signing/index.ts';
import { bodyEtag, ifNoneMatch } from './etag.ts';
import type { FullReply, TransportRequest } from './request.ts';

/** The path of the key set. It needs no authentication. */
export const JWKS_PATH = '/.well-known/jwks.json';

/**
 * How long a receiver may cache the key set. Receivers usually fetch the set again when they see an unknown key. So the
 * caching delays only the revocation of keys.
 */
const MAX_AGE_SECONDS = 300;

/** Returns the public keys. */
export function jwksReply({ publicKeys }: SigningKeys, request: TransportRequest): FullReply {
  const body = JSON.stringify({ keys: publicKeys });
  const etag = bodyEtag(body);
  const headers = {
    'content-type': 'application/jwk-set+json',
    'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
    // Web pages need the CORS headers, which depend on the Origin.
    vary: 'Origin',
    etag,
  };
  const known = ifNoneMatch(request.header('if-none-match'), etag);
  return known ? { status: 304, headers, body: '' } : { status: 200, headers, body };
}
