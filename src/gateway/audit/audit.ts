/**
 * The audit log of each workspace. It records each change of a key, a model card or an agent, with the author. The
 * entries of a workspace are numbered. Each workspace has a maximum number of entries. Above this number, each new
 * entry removes the oldest one.
 */
import * as z from 'zod';
import type { MaybePromise } from '../../base/index.ts';
import { DAY_MS } from '../api/fields.ts';
import { type Register, type Row, statement, type Steps } from '../register/register.ts';

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

export type AuditLog = ReturnType<typeof createAudit>;
/** Records changes and their authors. */
export type Audit = Pick<AuditLog, 'record'>;

export interface AuditEntry {
  readonly workspace: string;
  /**
   * The caller's `actor`, `cli` for the command line, `gateway` for the first key, or `program` for a program that
   * embeds the gateway.
   */
  readonly actor: string;
  /** Name of the action, for example `key.create`, `card.update` or `agent.delete`. */
  readonly action: string;
  /** The id of the changed key or model card, or the name of the changed agent. */
  readonly subject: string;
  /** Details of the change. They never contain a secret. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface AuditPage {
  readonly limit: number;
  readonly filter?: AuditFilter | undefined;
  /** Exclusive upper limit for the numbers of the listed entries. Default: no limit. */
  readonly before?: number | undefined;
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
};
const KEY_ACTOR = 'key:';
/** The conditions of a list, by the names of the filters. */
const CONDITIONS = {
  // The id of an actor, such as `key:ID`, `oidc:SUBJECT` or `cli`, or the name that a key had.
  actor: '(actor = $actor OR actor_name = $actor)',
  // An action such as `key.create`, or the first word of several actions, such as `key`. In ASCII, the slash follows
  // the dot. So the range contains exactly the actions that begin with the word and a dot.
  action: `(action = $action OR (action >= $action || '.' AND action < $action || '/'))`,
  subject: 'subject = $subject',
  // The first and the last day, both inclusive, in UTC.
  from: 'at >= $from',
  to: 'at < $to',
} as const;
const CONDITION_NAMES = ['actor', 'action', 'subject', 'from', 'to'] as const;

/** Restricts a list to the entries with these values. */
export type AuditFilter = Readonly<Partial<Record<keyof typeof CONDITIONS, string | undefined>>>;

/** Returns the statement of a list. It depends on the filters, so it is prepared for each request. */
function listing(filter: AuditFilter) {
  const used = CONDITION_NAMES.filter((name) => filter[name] !== undefined);
  const read = statement(`
    SELECT number, at, actor, actor_name, action, subject, detail FROM audit
    WHERE workspace = $workspace AND number < $before
      ${used.map((name) => `AND ${CONDITIONS[name]}`).join(' ')}
    ORDER BY number DESC LIMIT $limit`);
  const values = Object.fromEntries(used.map((name) => [name, valueOf(name, filter[name] ?? '')]));
  return { read, values };
}

function valueOf(name: (typeof CONDITION_NAMES)[number], text: string): string | number {
  if (name === 'from') return Date.parse(text);
  return name === 'to' ? Date.parse(text) + DAY_MS : text;
}

export function createAudit(options: AuditOptions) {
  const { register, now = Date.now, keep = KEPT_PER_WORKSPACE } = options;
  return {
    /**
     * Adds an entry. This is a step of the change (`register.change`), so that the change and the entry are stored
     * together or not at all.
     */
    *record({ workspace, actor, action, subject, detail }: AuditEntry): Steps<void> {
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
    list: (
      workspace: string,
      { limit, before = Number.MAX_SAFE_INTEGER, filter = {} }: AuditPage,
    ): MaybePromise<readonly AuditRecord[]> =>
      register.read(function* () {
        const { read, values } = listing(filter);
        const rows = yield* read.all({ workspace, before, limit, ...values });
        return rows.map(recordOf);
      }),
  };
}

function recordOf({ detail, actor_name: actorName, ...row }: Row): AuditRecord {
  return AuditRecord.parse({
    ...row,
    at: new Date(Number(row['at'])).toISOString(),
    ...(typeof actorName === 'string' && { actorName }),
    ...(typeof detail === 'string' && { detail: JSON.parse(detail) as unknown }),
  });
}
