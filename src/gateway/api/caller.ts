/**
 * Who calls the gateway: a key, or somebody that an OIDC issuer vouches for, in one workspace.
 *
 * Tasks belong to the workspace (the `owner` of a scope) and not to the key, so that a key can be rotated. The `tenant`
 * of a scope says whose door was used: empty for the gateway itself, `agents/NAME` for an agent behind it. So a task of
 * one door does not exist behind another, and who has the gateway's tasks is told what executes them by the scope alone.
 */
import { A2AError, type Call, type User } from '../../protocol/index.ts';

/** What a key may do. `*` is all of it, in the key's own workspace. */
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
export type Scope = (typeof SCOPES)[number];

/** The first workspace. */
export const DEFAULT_WORKSPACE = 'default';

const AGENT_DOOR = 'agents/';

export interface CallerFields {
  readonly workspace: string;
  /** `key:ID`, or `oidc:SUBJECT`: who is named in the audit log. */
  readonly actor: string;
  /** Whose budget and limits count; undefined for callers without a key. */
  readonly keyId?: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** The agent whose door was used. */
  readonly agent?: string | undefined;
  /** W3C trace context of the request. */
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
    this.tenant = fields.agent === undefined ? '' : AGENT_DOOR + fields.agent;
    this.actor = fields.actor;
    this.keyId = fields.keyId;
    this.scopes = fields.scopes;
    this.traceparent = fields.traceparent;
  }

  may(scope: Scope): boolean {
    return this.scopes.has('*') || this.scopes.has(scope);
  }

  /** Throws `forbidden`, and says which scope is missing: the caller knows what it came with. */
  need(scope: Scope): void {
    if (!this.may(scope))
      throw new A2AError('forbidden', `The scope ${scope} is missing: use a key that has it`);
  }
}

/** The caller of a request that was let in. */
export function callerOf({ user }: Pick<Call, 'user'>): Caller {
  if (user instanceof Caller) return user;
  throw new A2AError('unauthenticated');
}

/** The agent whose door a scope's tenant is; undefined: the gateway's own. */
export function agentOfTenant(tenant: string): string | undefined {
  return tenant.startsWith(AGENT_DOOR) ? tenant.slice(AGENT_DOOR.length) : undefined;
}
