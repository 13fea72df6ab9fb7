/**
 * The audit log of each workspace. It records each change and its author. The entries of a workspace are numbered. Each
 * workspace has a maximum number of entries. Above this number, each new entry removes the oldest one.
 */
import * as z from 'zod';
import type { MaybePromise } from '../../base/index.ts';
import { type Register, statement, type Steps } from '../register/register.ts';

const KEPT_PER_WORKSPACE = 100_000;

export const AuditRecord = z.object({
  number: z.int().describe('Increases by one with each entry of the workspace'),
  at: z.iso.datetime(),
  actor: z.string(),
  actorName: z.string().optional().describe('The name of the key at that time'),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()).optional(),
});
export type AuditRecord = Readonly<z.infer<typeof AuditRecord>>;

/**
 * Records changes and their authors. `record` is a step of the change (`register.change`), so that the change and the
 * entry are stored together or not at all.
 */
export interface Audit {
  record(entry: AuditEntry): Steps<void>;
}

export interface AuditEntry {
  readonly workspace: string;
  /** The caller's `actor`, `cli` for the command line, or `gateway` for the first key. */
  readonly actor: string;
  /** Name of the action, for example `key.create`, `card.update` or `agent.delete`. */
  readonly action: string;
  /** The id of the changed object. */
  readonly subject: string;
  /** Details of the change. They never contain a secret. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface AuditPage {
  readonly limit: number;
  /** Exclusive upper limit for the numbers of the listed entries. */
  readonly before?: number | undefined;
}

export interface AuditLog extends Audit {
  list(workspace: string, page: AuditPage): MaybePromise<readonly AuditRecord[]>;
}

export interface AuditOptions {
  readonly register: Register;
  readonly now?: () => number;
  readonly keep?: number;
}

const SQL = {
  // The number comes from a subquery. This is safe, because changes run one after the other.
  insert: statement(`
    INSERT INTO audit (workspace, number, at, actor, actor_name, action, subject, detail)
    VALUES ($workspace, 1 + coalesce((SELECT max(number) FROM audit WHERE workspace = $workspace), 0),
            $at, $actor, (SELECT name FROM api_keys WHERE id = $key), $action, $subject, $detail)
    RETURNING number`),
  trim: statement('DELETE FROM audit WHERE workspace = ? AND number <= ?'),
  list: statement(`
    SELECT number, at, actor, actor_name, action, subject, detail FROM audit
    WHERE workspace = ? AND number < ? ORDER BY number DESC LIMIT ?`),
};
const KEY_ACTOR = 'key:';

export function createAudit(options: AuditOptions): AuditLog {
  const { register, now = Date.now, keep = KEPT_PER_WORKSPACE } = options;
  return {
    *record({ workspace, actor, action, subject, detail }) {
      const row = yield* SQL.insert.get({
        workspace,
        at: now(),
        actor,
        key: actor.startsWith(KEY_ACTOR) ? actor.slice(KEY_ACTOR.length) : '',
        action,
        subject,
        detail: detail === undefined ? null : JSON.stringify(detail),
      });
      yield* SQL.trim.run(workspace, Number(row?.['number']) - keep);
    },
    list: (workspace, { limit, before = Number.MAX_SAFE_INTEGER }) =>
      register.read(function* () {
        const rows = yield* SQL.list.all(workspace, before, limit);
        return rows.map(recordOf);
      }),
  };
}

function recordOf({
  detail,
  actor_name: actorName,
  ...row
}: Readonly<Record<string, unknown>>): AuditRecord {
  return AuditRecord.parse({
    ...row,
    at: new Date(Number(row['at'])).toISOString(),
    ...(typeof actorName === 'string' && { actorName }),
    ...(typeof detail === 'string' && { detail: JSON.parse(detail) as unknown }),
  });
}
