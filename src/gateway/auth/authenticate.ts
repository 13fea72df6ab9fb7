/**
 * Who is asking: a key, in `Authorization: Bearer` or `x-api-key`, or a JWT of the OIDC issuer. For keys the answer is
 * there at once.
 *
 * Credentials that are good are looked at first and pass always; those that are not are counted by address, and beyond
 * some get 429 instead of 401. So a noisy neighbour behind the same address locks nobody out.
 */
import type { User } from '../../protocol/index.ts';
import type { Authenticate } from '../../http/index.ts';
import { Caller, type CallerFields } from '../api/caller.ts';
import { parseTraceparent } from '../telemetry/trace-context.ts';
import type { Keys } from '../keys/keys.ts';
import type { Oidc } from './oidc.ts';
import { createRateLimiter } from './rate-limit.ts';
import type { RateLimit } from '../keys/schema.ts';
import { looksLikeKey } from '../keys/token.ts';

const MAX_CREDENTIAL_CHARS = 8192;
const FAILURES_PER_ADDRESS: RateLimit = { requestsPerMinute: 30, burst: 30 };
const AGENT_MOUNT = /^\/agents\/([^/]+)/;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** What of a request says who sends it, and to which door: `mount` is `/agents/weather` at an agent's. */
type GatewayRequest = Pick<Parameters<Authenticate>[0], 'header' | 'remote' | 'mount'>;

export interface AuthenticateOptions {
  readonly keys: Pick<Keys, 'verify'>;
  readonly oidc?: Oidc | undefined;
  /** For keys without one of their own, and for callers with a JWT. */
  readonly rateLimit?: RateLimit | undefined;
  readonly now?: () => number;
}

export function createAuthenticate(
  options: AuthenticateOptions,
): (request: GatewayRequest) => User | undefined | Promise<User | undefined> {
  const { keys, oidc, now } = options;
  const clock = now === undefined ? {} : { now };
  const requests = createRateLimiter(clock);
  const failures = createRateLimiter(clock);

  function failed({ remote }: GatewayRequest): undefined {
    failures.take(remote, FAILURES_PER_ADDRESS);
  }

  function admitted(
    request: GatewayRequest,
    fields: Omit<CallerFields, 'agent' | 'traceparent'>,
    limit = options.rateLimit,
  ): Caller {
    if (limit) requests.take(`${fields.workspace} ${fields.actor}`, limit);
    const agent = agentOf(request.mount);
    const traceparent = request.header('traceparent');
    return new Caller({
      ...fields,
      ...(agent !== undefined && { agent }),
      ...(parseTraceparent(traceparent) && { traceparent }),
    });
  }

  return (request) => {
    const credential = credentialOf(request);
    if (credential === undefined) return undefined;
    if (credential === '') return failed(request);
    if (looksLikeKey(credential)) {
      const key = keys.verify(credential);
      if (!key) return failed(request);
      const { id, workspace, scopes, rateLimit } = key;
      return admitted(request, { workspace, actor: `key:${id}`, keyId: id, scopes }, rateLimit);
    }
    if (!oidc || !JWT.test(credential)) return failed(request);
    const vouched = oidc.verify(credential);
    const settled = (found: Awaited<typeof vouched>) => {
      if (!found) return failed(request);
      const { subject, workspace, scopes } = found;
      return admitted(request, { workspace, actor: `oidc:${subject}`, scopes });
    };
    return vouched instanceof Promise ? vouched.then(settled) : settled(vouched);
  };
}

/** Undefined: there is none. Empty: what is there cannot be one, or there are two that differ. */
function credentialOf(request: GatewayRequest): string | undefined {
  const authorization = request.header('authorization');
  const apiKey = request.header('x-api-key');
  if (authorization === undefined) return apiKey === undefined ? undefined : sane(apiKey.trim());
  const bearer = /^bearer +(\S+) *$/i.exec(sane(authorization))?.[1] ?? '';
  return apiKey === undefined || apiKey.trim() === bearer ? bearer : '';
}

function sane(text: string): string {
  return text.length > MAX_CREDENTIAL_CHARS ? '' : text;
}

function agentOf(mount: string | undefined): string | undefined {
  return mount === undefined ? undefined : AGENT_MOUNT.exec(mount)?.[1];
}
