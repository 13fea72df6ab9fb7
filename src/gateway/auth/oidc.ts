/**
 * Callers with a JWT of the operator's OpenID Connect issuer instead of a key. The token says who it is, in which
 * workspace, and what it may do; only what the issuer signed with an asymmetric key for this gateway counts.
 */
import { hash } from 'node:crypto';
import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { SCOPES } from '../api/caller.ts';
import { BoundedMap } from '../../base/index.ts';
import type { OidcConfig } from './config.ts';
import { createIssuer, type IssuerOptions } from './issuer.ts';
import { WorkspaceName } from '../keys/schema.ts';

/** No `none`, and nothing with a shared secret: the public key must not serve as one. */
const ALGORITHMS = names('RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519');
const CLOCK_TOLERANCE_SECONDS = 30;
const MAX_SUBJECT_CHARS = 255;
const MAX_REMEMBERED = 10_000;
/** A token that was good stays so for a minute without being asked about, also when its key is withdrawn. */
const REMEMBER_MS = 60_000;
const RETRY_SECONDS = 5;
const KNOWN_SCOPES: ReadonlySet<string> = new Set(SCOPES);

/** Somebody that the issuer vouches for. */
export interface Vouched {
  readonly subject: string;
  readonly workspace: string;
  readonly scopes: ReadonlySet<string>;
}

export interface Oidc {
  /** Undefined: not a token that counts. Throws `unavailable` while the issuer cannot be asked. */
  verify(token: string): Vouched | undefined | Promise<Vouched | undefined>;
}

export interface OidcOptions extends IssuerOptions {
  readonly config: OidcConfig;
  readonly logger: Logger;
}

export function createOidc({ config, logger, now = Date.now, ...options }: OidcOptions): Oidc {
  const { issuer, audience } = config;
  const keys = createIssuer(issuer, { now, ...options });
  const remembered = new BoundedMap<{ readonly vouched: Vouched; readonly until: number }>(
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

  async function check(token: string, name: string): Promise<Vouched | undefined> {
    try {
      // Somebody else's token is not worth a question to our issuer.
      if (decodeJwt(token).iss !== issuer) return undefined;
      const { payload } = await jwtVerify(token, keys, {
        ...expected,
        currentDate: new Date(now()),
      });
      const vouched = vouchedBy(payload, config);
      const expiry = ((payload.exp ?? 0) + CLOCK_TOLERANCE_SECONDS) * 1000;
      const until = Math.min(expiry, now() + REMEMBER_MS);
      if (vouched) remembered.set(name, { vouched, until });
      return vouched;
    } catch (error) {
      if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid)) {
        return undefined;
      }
      // The issuer is left alone for a while with the same error: one line for all who ask meanwhile.
      if (error !== logged) {
        logger.error({ err: error, issuer }, 'the keys of the OIDC issuer cannot be fetched');
      }
      logged = error;
      throw new A2AError('unavailable', 'Tokens cannot be checked right now', {
        retryAfterSeconds: RETRY_SECONDS,
      });
    }
  }

  return {
    verify(token) {
      const name = hash('sha256', token, 'base64');
      const entry = remembered.get(name);
      if (entry && now() < entry.until) return entry.vouched;
      remembered.delete(name);
      return check(token, name);
    },
  };
}

/** What a token that is genuine says of its bearer; undefined where it does not say enough. */
function vouchedBy(payload: JWTPayload, config: OidcConfig): Vouched | undefined {
  const { sub } = payload;
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_CHARS) return undefined;
  const workspace = workspaceOf(own(payload, config.workspaceClaim), config);
  if (workspace === undefined) return undefined;
  const claim = own(payload, config.scopeClaim);
  const listed: readonly unknown[] = typeof claim === 'string' ? claim.split(' ') : list(claim);
  const scopes = listed.filter((scope) => typeof scope === 'string' && KNOWN_SCOPES.has(scope));
  return { subject: sub, workspace, scopes: new Set(scopes as string[]) };
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

function names(line: string): string[] {
  return line.split(' ');
}
