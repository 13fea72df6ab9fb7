/**
 * The caller of a request: a key, or a user that an OIDC issuer has authenticated, in one workspace.
 *
 * A task belongs to the workspace (the `owner` in the task store), not to the key, so that a key can be rotated. The
 * `tenant` in the task store says which endpoint created the task: empty for the gateway itself, `agents/NAME` for an
 * agent. A task of one endpoint does not exist at another. The tenant alone decides what executes the task.
 */
import { A2AError, type Call, type User } from '../../protocol/index.ts';

/** The scopes of a key. `*` stands for all of them, in the key's own workspace. */
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

/** The workspace of the first key. */
export const DEFAULT_WORKSPACE = 'default';

const AGENT_TENANT = 'agents/';

export interface CallerFields {
  readonly workspace: string;
  /** `key:ID` or `oidc:SUBJECT`, as in the audit log. */
  readonly actor: string;
  /** The key that is charged and limited. Undefined for callers without a key. */
  readonly keyId?: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** The agent that the request was sent to, at `/agents/NAME`. */
  readonly agent?: string | undefined;
  /** The W3C `traceparent` header of the request. */
  readonly traceparent?: string | undefined;
}

export class Caller implements User {
  readonly [key: string]: unknown;
  /** The owner of tasks. */
  readonly id: string;
  readonly tenant: string;
  readonly workspace: string;
  readonly actor: string;
  readonly keyId: string | undefined;
  readonly scopes: ReadonlySet<string>;
  readonly traceparent: string | undefined;

  constructor(fields: CallerFields) {
    this.id = this.workspace = fields.workspace;
    this.tenant = fields.agent === undefined ? '' : AGENT_TENANT + fields.agent;
    this.actor = fields.actor;
    this.keyId = fields.keyId;
    this.scopes = fields.scopes;
    this.traceparent = fields.traceparent;
  }

  may(scope: ApiScope): boolean {
    return this.scopes.has('*') || this.scopes.has(scope);
  }

  /** Throws `forbidden` with the name of the missing scope. */
  need(scope: ApiScope): void {
    if (!this.may(scope))
      throw new A2AError(
        'forbidden',
        `The key does not have the scope ${scope}: use a key that has it`,
      );
  }
}

/** The caller of an authenticated request. Throws `unauthenticated`. */
export function callerOf({ user }: Pick<Call, 'user'>): Caller {
  if (user instanceof Caller) return user;
  throw new A2AError('unauthenticated');
}

/** The agent's name in a tenant. Undefined for the gateway's own tasks. */
export function agentOfTenant(tenant: string): string | undefined {
  return tenant.startsWith(AGENT_TENANT) ? tenant.slice(AGENT_TENANT.length) : undefined;
}
