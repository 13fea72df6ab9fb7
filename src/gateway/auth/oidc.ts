/**
 * Verifies JWTs, which callers may send instead of a key. The configured OpenID Connect issuer must have signed the
 * token with an asymmetric key, and the token's audience must be this gateway. The subject, the workspace and the
 * scopes are taken from the token's claims.
 */
import { hash } from 'node:crypto';
import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { SCOPES } from '../api/caller.ts';
import { BoundedMap, type MaybePromise } from '../../base/index.ts';
import type { OidcConfig } from './config.ts';
import { createIssuer, type IssuerOptions } from './issuer.ts';
import { WorkspaceName } from '../keys/schema.ts';

/**
 * Only asymmetric algorithms are allowed. With a symmetric algorithm, an attacker could use the public key as the
 * shared secret.
 */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
const CLOCK_TOLERANCE_SECONDS = 30;
const MAX_SUBJECT_CHARS = 255;
const MAX_REMEMBERED = 10_000;
/** How long a verified token is cached. During this time it is accepted even if its signing key has been withdrawn. */
const REMEMBER_MS = 60_000;
const RETRY_SECONDS = 5;

/** The verified claims of a token. */
export interface VerifiedToken {
  readonly subject: string;
  readonly workspace: string;
  readonly scopes: ReadonlySet<string>;
}

export type Oidc = ReturnType<typeof createOidc>;

export interface OidcOptions extends IssuerOptions {
  readonly config: OidcConfig;
  readonly logger: Logger;
}

export function createOidc({ config, logger, now = Date.now, ...options }: OidcOptions) {
  const { issuer, audience } = config;
  const keys = createIssuer(issuer, { now, ...options });
  const remembered = new BoundedMap<{ readonly token: VerifiedToken; readonly until: number }>(
    MAX_REMEMBERED,
  );
  let logged: unknown;
  const expected = {
    issuer,
    audience: typeof audience === 'string' ? audience : [...audience],
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ['exp', 'sub'],
  };

  async function check(token: string, name: string): Promise<VerifiedToken | undefined> {
    try {
      // A token from another issuer must not cause a request to our issuer.
      if (decodeJwt(token).iss !== issuer) return undefined;
      const { payload } = await jwtVerify(token, keys, {
        ...expected,
        currentDate: new Date(now()),
      });
      const verified = verifiedToken(payload, config);
      const expiry = ((payload.exp ?? 0) + CLOCK_TOLERANCE_SECONDS) * 1000;
      const until = Math.min(expiry, now() + REMEMBER_MS);
      if (verified) remembered.set(name, { token: verified, until });
      return verified;
    } catch (error) {
      if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)) {
        return undefined;
      }
      // The same error object is thrown again until the next request to the issuer. Log it only once.
      if (error !== logged) {
        logger.error({ err: error, issuer }, 'failed to fetch the keys of the OIDC issuer');
      }
      logged = error;
      const message = 'Tokens cannot be verified at the moment: try again later';
      throw new A2AError('unavailable', message, { retryAfterSeconds: RETRY_SECONDS });
    }
  }

  return {
    /**
     * Returns the claims, or undefined if the token is invalid. Throws `unavailable` if the issuer's keys cannot be
     * fetched or are invalid.
     */
    verify(token: string): MaybePromise<VerifiedToken | undefined> {
      const name = hash('sha256', token, 'base64');
      const entry = remembered.get(name);
      if (entry && now() < entry.until) return entry.token;
      remembered.delete(name);
      return check(token, name);
    },
  };
}

/** Returns the claims of a verified token, or undefined if the subject or the workspace is missing or invalid. */
function verifiedToken(payload: JWTPayload, config: OidcConfig): VerifiedToken | undefined {
  const { sub } = payload;
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_CHARS) return undefined;
  const workspace = workspaceOf(own(payload, config.workspaceClaim), config);
  if (workspace === undefined) return undefined;
  const claim = own(payload, config.scopeClaim);
  const scopes = new Set<unknown>(typeof claim === 'string' ? claim.split(' ') : list(claim));
  return { subject: sub, workspace, scopes: new Set(SCOPES.filter((scope) => scopes.has(scope))) };
}

function workspaceOf(claim: unknown, { workspaces }: OidcConfig): string | undefined {
  if (typeof claim !== 'string') return undefined;
  if (workspaces) return Object.hasOwn(workspaces, claim) ? workspaces[claim] : undefined;
  return WorkspaceName.safeParse(claim).data;
}

function own(payload: JWTPayload, claim: string): unknown {
  return Object.hasOwn(payload, claim) ? payload[claim] : undefined;
}

function list(claim: unknown): readonly unknown[] {
  return Array.isArray(claim) ? claim : [];
}
