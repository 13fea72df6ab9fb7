/**
 * Authenticates a request by a key in `Authorization: Bearer`, `x-api-key` or `x-goog-api-key`, or by a JWT from the
 * OIDC issuer. Clients of Google's API may also send the key as `?key=`. A key in the cache is checked synchronously.
 *
 * Failed attempts are counted per client address. Above a limit, the response is 429 instead of 401. This limit does
 * not apply to valid credentials, so that clients behind the same address cannot lock each other out.
 */
import { andThen, defined, type MaybePromise } from '../../base/index.ts';
import type { User } from '../../protocol/index.ts';
import { bearerOf, type Authenticate } from '../../http/index.ts';
import { Caller, type CallerFields } from '../api/caller.ts';
import { validTraceparent } from '../../base/tracing/index.ts';
import type { Keys } from '../keys/keys.ts';
import type { Oidc } from './oidc.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';
import type { RateLimit } from '../keys/schema.ts';
import { looksLikeKey } from '../keys/token.ts';
import type { VerifiedKey } from '../keys/verifier.ts';

const MAX_CREDENTIAL_CHARS = 8192;
const FAILURES_PER_ADDRESS: RateLimit = { requestsPerMinute: 30, burst: 30 };
const AGENT_MOUNT = /^\/agents\/([^/]+)/;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** The request to authenticate. `mount` is `/agents/NAME` for requests to an agent. */
type GatewayRequest = Pick<Parameters<Authenticate>[0], 'header' | 'remote' | 'mount'> &
  Partial<Pick<Parameters<Authenticate>[0], 'url'>>;

export interface AuthenticateOptions {
  readonly keys: Pick<Keys, 'verify'>;
  readonly oidc?: Oidc | undefined;
  /** The rate limit of keys without their own rate limit, and of callers with a JWT. Default: no limit. */
  readonly rateLimit?: RateLimit | undefined;
  /** Returns the names of the headers that may be forwarded to agents, in lower case. Default: no headers. */
  readonly forwarded?: (() => readonly string[]) | undefined;
  readonly now?: () => number;
  /** Counts the requests of each caller. Default: in the memory of this process. */
  readonly requests?: RateLimiter | undefined;
}

export function createAuthenticate(
  options: AuthenticateOptions,
): (request: GatewayRequest) => MaybePromise<User | undefined> {
  const { keys, oidc, now, forwarded = () => [] } = options;
  const clock = now === undefined ? {} : { now };
  const { requests = createRateLimiter(clock) } = options;
  const failures = createRateLimiter(clock);

  function failed({ remote }: GatewayRequest): undefined {
    failures.take(remote, FAILURES_PER_ADDRESS);
  }

  function admitted(
    request: GatewayRequest,
    fields: Omit<CallerFields, 'agent' | 'traceparent' | 'headers'>,
    limit = options.rateLimit,
  ): MaybePromise<Caller> {
    const taken = limit && requests.take(`${fields.workspace} ${fields.actor}`, limit);
    return andThen(taken, () => {
      const agent = agentOf(request.mount);
      const traceparent = validTraceparent(request.header('traceparent'));
      const names = forwarded();
      const sent = names.map((name) => [name, request.header(name)] as const);
      const headers = names.length > 0 ? defined(Object.fromEntries(sent)) : undefined;
      return new Caller({ ...fields, headers, agent, traceparent });
    });
  }

  function withKey(
    request: GatewayRequest,
    key: VerifiedKey | undefined,
  ): MaybePromise<Caller | undefined> {
    if (!key) return failed(request);
    const { id, name, workspace, scopes, rateLimit } = key;
    const actor = `key:${id}`;
    return admitted(request, { workspace, actor, keyId: id, keyName: name, scopes }, rateLimit);
  }

  return (request) => {
    const credential = credentialOf(request);
    if (credential === undefined) return undefined;
    if (credential === '') return failed(request);
    if (looksLikeKey(credential)) {
      return andThen(keys.verify(credential), (key) => withKey(request, key));
    }
    if (!oidc || !JWT.test(credential)) return failed(request);
    return andThen(oidc.verify(credential), (found) => {
      if (!found) return failed(request);
      const { subject, workspace, scopes } = found;
      return admitted(request, { workspace, actor: `oidc:${subject}`, subject, scopes });
    });
  };
}

/**
 * Returns the credential, or undefined if none was sent. Returns an empty string if the credential is malformed, or if
 * two different credentials were sent.
 */
function credentialOf(request: GatewayRequest): string | undefined {
  const authorization = request.header('authorization');
  let found = authorization === undefined ? undefined : (bearerOf(sane(authorization)) ?? '');
  const keys = [request.header('x-api-key'), request.header('x-goog-api-key'), keyInUrl(request)];
  for (const key of keys) {
    if (key === undefined) continue;
    const sent = sane(key.trim());
    if (found !== undefined && found !== sent) return '';
    found = sent;
  }
  return found;
}

/** Returns the key in the query, or undefined if there is none. Only Google's API has the key in the query. */
function keyInUrl({ url = '', mount = '' }: GatewayRequest): string | undefined {
  if (mount !== '' || !url.startsWith('/v1beta/')) return undefined;
  const at = url.indexOf('?');
  return at < 0 ? undefined : (new URLSearchParams(url.slice(at)).get('key') ?? undefined);
}

function sane(text: string): string {
  return text.length > MAX_CREDENTIAL_CHARS ? '' : text;
}

function agentOf(mount: string | undefined): string | undefined {
  return mount === undefined ? undefined : AGENT_MOUNT.exec(mount)?.[1];
}
