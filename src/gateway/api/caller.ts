/**
 * The caller of a request, in one workspace. The caller has a key, or an OIDC issuer has authenticated the caller.
 *
 * A task belongs to the workspace (the `owner` in the task store), not to the key, so that a key can be replaced by
 * another key. The `tenant` in the task store is the endpoint that received the task: empty for the gateway itself,
 * `agents/NAME` for an agent, or RESPONSES_TENANT. A task of one endpoint cannot be found at another endpoint. At
 * `/agents/NAME`, the agent executes the task.
 */
import * as z from 'zod';
import { A2AError, type Call, type User } from '../../protocol/index.ts';
import type { UserCodec } from '../../tasks/index.ts';

/** The scopes of a key. `*` means all scopes, in the key's own workspace. */
export const SCOPES = [
  'tasks:read',
  'tasks:write',
  'agents:use',
  'agents:write',
  'cards:read',
  'cards:write',
  'keys:write',
  'audit:read',
  'metrics:read',
] as const;
export type ApiScope = (typeof SCOPES)[number];

/** The default scopes of a new key. They allow using the gateway, but not administering it. */
export const DEFAULT_SCOPES = [
  'tasks:read',
  'tasks:write',
  'agents:use',
  'cards:read',
] as const satisfies readonly ApiScope[];

/** The workspace of the first key. */
export const DEFAULT_WORKSPACE = 'default';

const AGENT_TENANT = 'agents/';
/** The tenant of the tasks in which `/v1/responses` stores its responses. No A2A endpoint has this tenant. */
export const RESPONSES_TENANT = 'responses';

export interface CallerFields {
  readonly workspace: string;
  /** The caller's name in the audit log: `key:ID` or `oidc:SUBJECT`. */
  readonly actor: string;
  /** The id of the key whose budget is charged, or undefined for callers without a key. */
  readonly keyId?: string | undefined;
  readonly keyName?: string | undefined;
  /** The subject of the JWT, for a caller without a key. */
  readonly subject?: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** Name of the agent if the request was sent to `/agents/NAME`. */
  readonly agent?: string | undefined;
  /**
   * The endpoint whose tasks the caller uses. Default: the endpoint of `agent`, or the gateway itself if `agent` is
   * undefined.
   */
  readonly tenant?: string | undefined;
  /** The W3C `traceparent` header of the request. */
  readonly traceparent?: string | undefined;
  /** The request headers that may be forwarded to an agent, with names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export class Caller implements User {
  readonly [key: string]: unknown;
  /** The owner of the caller's tasks, which is the workspace. */
  readonly id: string;
  readonly tenant: string;
  readonly workspace: string;
  readonly actor: string;
  readonly keyId: string | undefined;
  readonly keyName: string | undefined;
  readonly subject: string | undefined;
  readonly scopes: ReadonlySet<string>;
  readonly traceparent: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(fields: CallerFields) {
    this.id = this.workspace = fields.workspace;
    this.tenant = fields.tenant ?? (fields.agent === undefined ? '' : AGENT_TENANT + fields.agent);
    this.actor = fields.actor;
    this.keyId = fields.keyId;
    this.keyName = fields.keyName;
    this.subject = fields.subject;
    this.scopes = fields.scopes;
    this.traceparent = fields.traceparent;
    this.headers = fields.headers;
  }

  /** Returns the same caller at another endpoint. */
  at(tenant: string): Caller {
    const { workspace, actor, keyId, keyName, subject, scopes, traceparent, headers } = this;
    const fields = { workspace, actor, keyId, keyName, subject, scopes, traceparent, headers };
    return new Caller({ ...fields, tenant });
  }

  /** Returns the same caller at the endpoint of the agent, or of the gateway itself if the name is empty. */
  atAgent(name: string): Caller {
    return this.at(name === '' ? '' : AGENT_TENANT + name);
  }

  may(scope: ApiScope): boolean {
    return this.scopes.has('*') || this.scopes.has(scope);
  }

  /** Throws `forbidden` with the name of the scope if the caller does not have it. */
  need(scope: ApiScope): void {
    if (!this.may(scope))
      throw new A2AError(
        'forbidden',
        `The caller does not have the scope ${scope}: use a key or a token with this scope`,
      );
  }
}

/** The fields of a caller in a request to another gateway. */
const PackedCaller = z.object({
  workspace: z.string(),
  tenant: z.string(),
  actor: z.string(),
  keyId: z.string().optional(),
  keyName: z.string().optional(),
  subject: z.string().optional(),
  scopes: z.array(z.string()),
  traceparent: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
});

/**
 * Converts a caller to JSON and back, for the gateway that executes the task. That gateway then checks the same scopes
 * and charges the same key.
 */
export const CALLER_CODEC: UserCodec = {
  pack(user) {
    const caller = callerOf({ user });
    const { id, workspace, tenant, actor, keyId, keyName, subject, traceparent, headers } = caller;
    const key = { actor, keyId, keyName, subject, scopes: [...caller.scopes] };
    return { id, workspace, tenant, ...key, traceparent, headers };
  },
  unpack(packed) {
    const { data } = PackedCaller.safeParse(packed);
    if (data) return new Caller({ ...data, scopes: new Set(data.scopes) });
    // A gateway of an earlier version does not send the scopes.
    throw new A2AError(
      'unavailable',
      'The gateway that received the message and the gateway that executes the task have different versions: try again when all gateways have the same version',
      { retryAfterSeconds: 10 },
    );
  },
};

/** Returns the caller of a request. Throws `unauthenticated` if there is none. */
export function callerOf({ user }: Pick<Call, 'user'>): Caller {
  if (user instanceof Caller) return user;
  throw new A2AError('unauthenticated');
}

/**
 * Returns the name of the agent whose endpoint is the tenant, or undefined if the tenant is not an agent's endpoint.
 */
export function agentOfTenant(tenant: string): string | undefined {
  return tenant.startsWith(AGENT_TENANT) ? tenant.slice(AGENT_TENANT.length) : undefined;
}
