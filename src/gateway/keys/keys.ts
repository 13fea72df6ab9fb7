/**
 * Creates, lists, changes, rotates and revokes API keys, with an audit entry for each change. A secret is returned only
 * by the call that creates it. The register stores only a keyed hash of the secret.
 *
 *   const { key, secret } = keys.create({ workspace: 'default', name: 'ci', scopes: ['tasks:write'] }, 'cli');
 *   keys.verify(secret)?.id === key.id;
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import { A2AError } from '../../protocol/index.ts';
import { consoleLogger, type Logger } from '../../tasks/index.ts';
import type { Register } from '../register/register.ts';
import { parsed } from '../api/route.ts';
import type { Audit } from '../audit/audit.ts';
import type { Pepper } from './pepper.ts';
import { Key, KeyChange, type MadeKey, NewKey, Rotation, WorkspaceName } from './schema.ts';
import { makeToken, type RandomBytes, shownPrefix, type Token } from './token.ts';
import { createVerifier, type VerifiedKey } from './verifier.ts';

/** Maximum number of keys of a workspace that are not revoked. */
const MAX_KEYS_PER_WORKSPACE = 1000;
/** Maximum number of revoked keys of a workspace that are still listed. */
const MAX_REVOKED_PER_WORKSPACE = 1000;
/** Maximum number of keys of a workspace, including revoked keys. */
export const MAX_LISTED = MAX_KEYS_PER_WORKSPACE + MAX_REVOKED_PER_WORKSPACE;
/** Maximum number of secrets of one key that are valid at the same time, while rotations overlap. */
const MAX_SECRETS_PER_KEY = 5;
const PREFIX_TRIES = 10;

export interface Keys {
  create(fields: NewKey & { readonly workspace: string }, actor: string): MadeKey;
  /** Lists the keys of the workspace, newest first. */
  list(
    workspace: string,
    page?: KeyPage,
  ): { readonly items: readonly Key[]; readonly total: number };
  /** Returns a key. Throws `notFound` if the workspace has no such key. */
  get(workspace: string, id: string): Key;
  /**
   * Changes the settings of a key, with effect from the next request. Throws `conflict` if the key is revoked. Also
   * throws `conflict` if no key of the workspace would have `keys:write` after the change, unless `force` is true.
   */
  edit(
    workspace: string,
    id: string,
    change: KeyChange,
    actor: string,
    options?: { readonly force?: boolean },
  ): Key;
  /** Gives the key a new secret. The old secret works until the overlap ends. */
  rotate(workspace: string, id: string, rotation: Rotation, actor: string): MadeKey;
  /**
   * Revokes a key. This takes effect at once and cannot be undone. Throws `conflict` for the workspace's last key with
   * `keys:write`, unless `force` is true. Does nothing if the key is already revoked.
   */
  revoke(workspace: string, id: string, options: { readonly force?: boolean }, actor: string): Key;
  /** Returns whether the register has any key, in any workspace. */
  any(): boolean;
  /** Returns the number of unexpired keys that cannot be verified, because they were created with another pepper. */
  unusable(): number;
  /**
   * Returns the key of a secret, or undefined if the secret or the key is not valid now. Fast enough to be called for
   * every request.
   */
  verify(secret: string): VerifiedKey | undefined;
}

export interface KeyPage {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export interface KeysOptions {
  readonly register: Register;
  readonly audit: Audit;
  readonly pepper: Pepper;
  readonly logger?: Logger;
  readonly now?: () => number;
  readonly random?: RandomBytes;
}

const Row = z.object({
  id: z.string(),
  workspace: z.string(),
  name: z.string(),
  scopes: z.string(),
  rate_limit: z.string().nullable(),
  budget: z.string().nullable(),
  created_at: z.number(),
  expires_at: z.number().nullable(),
  rotated_at: z.number().nullable(),
  revoked_at: z.number().nullable(),
  last_used_at: z.number().nullable(),
  prefix: z.string(),
  pepper: z.string(),
  overlap_ends_at: z.number().nullable(),
});

const WRITES_KEYS = `EXISTS (SELECT 1 FROM json_each(k.scopes) WHERE value IN ('*', 'keys:write'))`;
const LIVE = `k.revoked_at IS NULL AND coalesce(k.expires_at, $now + 1) > $now`;
const SELECT = `
  SELECT k.*, s.prefix, s.pepper,
    (SELECT max(old.ends_at) FROM key_secrets old WHERE old.key_id = k.id AND old.ends_at > $now)
      AS overlap_ends_at
  FROM api_keys k JOIN key_secrets s ON s.key_id = k.id AND s.ends_at IS NULL
  WHERE k.workspace = $workspace`;

export function createKeys(options: KeysOptions): Keys {
  const { register, audit, pepper, logger = consoleLogger, now = Date.now, random } = options;
  const sql = statements(register);
  const verifier = createVerifier({ register, pepper, logger, now });

  function changed<Result>(work: () => Result): Result {
    try {
      return register.transaction(work);
    } finally {
      register.keysChanged();
    }
  }

  function find(workspace: string, id: string): Key {
    const row = sql.one.get({ workspace, id, now: now() });
    if (!row) throw new A2AError('notFound', 'The workspace has no such key');
    return keyOf(Row.parse(row), now(), pepper.id);
  }

  /** Creates a token with an unused prefix, because a prefix must identify exactly one secret. */
  function unusedToken(): Token {
    for (let tries = 0; tries < PREFIX_TRIES; tries++) {
      const token = makeToken(random);
      if (!sql.prefix.get(token.prefix)) return token;
    }
    throw new Error('found no unused key prefix');
  }

  function addSecret(id: string): string {
    const { prefix, text } = unusedToken();
    sql.addSecret.run(prefix, id, pepper.hash(text), pepper.id);
    return text;
  }

  function needOtherWriter(workspace: string, id: string): void {
    if (sql.otherWriters.get({ workspace, id, pepper: pepper.id, now: now() })) return;
    throw new A2AError(
      'conflict',
      'This is the last key with the scope keys:write in its workspace: create another one first, or use ?force=true',
    );
  }

  return {
    create({ workspace: name, ...fields }, actor) {
      const { workspace } = parsed(z.object({ workspace: WorkspaceName }), { workspace: name });
      const wanted = parsed(NewKey, fields);
      const expiresAt = wanted.expiresAt === undefined ? null : Date.parse(wanted.expiresAt);
      if (expiresAt !== null && expiresAt <= now()) {
        throw new A2AError('invalidParams', 'expiresAt: must be in the future');
      }
      const scopes = [...new Set(wanted.scopes)];
      return changed(() => {
        if (count(sql.unrevoked.get(workspace)) >= MAX_KEYS_PER_WORKSPACE) {
          throw new A2AError(
            'conflict',
            `A workspace can have at most ${MAX_KEYS_PER_WORKSPACE} keys: revoke one first`,
          );
        }
        const id = randomUUIDv7();
        sql.add.run({
          id,
          workspace,
          name: wanted.name,
          scopes: JSON.stringify(scopes),
          rateLimit: text(wanted.rateLimit),
          budget: text(wanted.budget),
          createdAt: now(),
          expiresAt,
        });
        const secret = addSecret(id);
        audit.record({
          workspace,
          actor,
          action: 'key.create',
          subject: id,
          detail: { ...wanted, scopes },
        });
        return { key: find(workspace, id), secret };
      });
    },

    list: (workspace, { limit = MAX_LISTED, offset = 0 } = {}) =>
      register.read(() => {
        const rows = sql.page.all({ workspace, limit, offset, now: now() });
        return {
          items: rows.map((row) => keyOf(Row.parse(row), now(), pepper.id)),
          total: count(sql.total.get(workspace)),
        };
      }),

    get: (workspace, id) => register.read(() => find(workspace, id)),

    edit(workspace, id, change, actor, { force = false } = {}) {
      const wanted = parsed(KeyChange, change);
      const { expiresAt } = wanted;
      if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= now()) {
        throw new A2AError(
          'invalidParams',
          'expiresAt: must be in the future: to end a key, revoke it',
        );
      }
      return changed(() => {
        const before = find(workspace, id);
        if (before.status === 'revoked') {
          throw new A2AError('conflict', 'The key is revoked: create a new one');
        }
        const scopes = wanted.scopes && [...new Set(wanted.scopes)];
        const after = { ...before, ...(scopes && { scopes }) };
        if (!force && writesKeys(before) && !writesKeys(after)) needOtherWriter(workspace, id);
        sql.edit.run({
          id,
          name: wanted.name ?? before.name,
          scopes: JSON.stringify(after.scopes),
          rateLimit: text(changedTo(wanted.rateLimit, before.rateLimit)),
          budget: text(changedTo(wanted.budget, before.budget)),
          expiresAt: milliseconds(changedTo(expiresAt, before.expiresAt)),
        });
        const detail = { ...wanted, ...(scopes && { scopes }) };
        audit.record({ workspace, actor, action: 'key.edit', subject: id, detail });
        return find(workspace, id);
      });
    },

    rotate(workspace, id, rotation, actor) {
      const { overlapSeconds = 0 } = parsed(Rotation, rotation);
      return changed(() => {
        const { status } = find(workspace, id);
        if (status === 'revoked' || status === 'expired') {
          throw new A2AError('conflict', `The key is ${status}: create a new one`);
        }
        const time = now();
        // Ended secrets are deleted, so that they do not become valid again if the clock is set back.
        sql.dropEnded.run(id, time);
        if (overlapSeconds === 0) sql.dropSecrets.run(id);
        else sql.endSecrets.run(time + overlapSeconds * 1000, id);
        if (count(sql.secrets.get(id)) >= MAX_SECRETS_PER_KEY) {
          throw new A2AError(
            'conflict',
            'Too many secrets of this key are still valid: rotate it without overlapSeconds',
          );
        }
        const secret = addSecret(id);
        sql.rotated.run(time, id);
        const detail = { overlapSeconds };
        audit.record({ workspace, actor, action: 'key.rotate', subject: id, detail });
        return { key: find(workspace, id), secret };
      });
    },

    revoke: (workspace, id, { force = false }, actor) =>
      changed(() => {
        const key = find(workspace, id);
        if (key.status === 'revoked') return key;
        if (!force && writesKeys(key)) needOtherWriter(workspace, id);
        sql.revoke.run(now(), id);
        sql.dropOldSecrets.run(id);
        audit.record({ workspace, actor, action: 'key.revoke', subject: id });
        // Read the key before old keys are removed, because the key may be among the old keys if the clock was set
        // back.
        const revoked = find(workspace, id);
        for (const { id: old } of sql.tooOld.all(workspace, MAX_REVOKED_PER_WORKSPACE)) {
          sql.dropSecrets.run(String(old));
          sql.drop.run(String(old));
        }
        return revoked;
      }),

    any: () => register.read(() => sql.any.get() !== undefined),
    unusable: () => register.read(() => count(sql.unusable.get({ pepper: pepper.id, now: now() }))),
    verify: (secret) => verifier.verify(secret),
  };
}

function statements({ db }: Register) {
  return {
    one: db.prepare(`${SELECT} AND k.id = $id`),
    page: db.prepare(`${SELECT} ORDER BY k.created_at DESC, k.id DESC LIMIT $limit OFFSET $offset`),
    total: db.prepare('SELECT count(*) AS count FROM api_keys WHERE workspace = ?'),
    unrevoked: db.prepare(
      'SELECT count(*) AS count FROM api_keys WHERE workspace = ? AND revoked_at IS NULL',
    ),
    any: db.prepare('SELECT 1 FROM api_keys LIMIT 1'),
    unusable: db.prepare(`
      SELECT count(*) AS count FROM api_keys k JOIN key_secrets s ON s.key_id = k.id
      WHERE s.ends_at IS NULL AND s.pepper <> $pepper AND ${LIVE}`),
    prefix: db.prepare('SELECT 1 FROM key_secrets WHERE prefix = ?'),
    add: db.prepare(`
      INSERT INTO api_keys (id, workspace, name, scopes, rate_limit, budget, created_at, expires_at)
      VALUES ($id, $workspace, $name, $scopes, $rateLimit, $budget, $createdAt, $expiresAt)`),
    addSecret: db.prepare(
      'INSERT INTO key_secrets (prefix, key_id, hash, pepper) VALUES (?, ?, ?, ?)',
    ),
    secrets: db.prepare('SELECT count(*) AS count FROM key_secrets WHERE key_id = ?'),
    dropSecrets: db.prepare('DELETE FROM key_secrets WHERE key_id = ?'),
    dropEnded: db.prepare('DELETE FROM key_secrets WHERE key_id = ? AND ends_at <= ?'),
    dropOldSecrets: db.prepare('DELETE FROM key_secrets WHERE key_id = ? AND ends_at IS NOT NULL'),
    endSecrets: db.prepare(
      'UPDATE key_secrets SET ends_at = min(coalesce(ends_at, ?1), ?1) WHERE key_id = ?2',
    ),
    edit: db.prepare(`
      UPDATE api_keys SET name = $name, scopes = $scopes, rate_limit = $rateLimit, budget = $budget,
        expires_at = $expiresAt WHERE id = $id`),
    rotated: db.prepare('UPDATE api_keys SET rotated_at = ? WHERE id = ?'),
    revoke: db.prepare('UPDATE api_keys SET revoked_at = ? WHERE id = ?'),
    otherWriters: db.prepare(`
      SELECT 1 FROM api_keys k JOIN key_secrets s ON s.key_id = k.id
      WHERE k.workspace = $workspace AND k.id <> $id AND s.ends_at IS NULL AND s.pepper = $pepper
        AND ${WRITES_KEYS} AND ${LIVE} LIMIT 1`),
    tooOld: db.prepare(`
      SELECT id FROM api_keys WHERE workspace = ? AND revoked_at IS NOT NULL
      ORDER BY revoked_at DESC, id DESC LIMIT -1 OFFSET ?`),
    drop: db.prepare('DELETE FROM api_keys WHERE id = ?'),
  };
}

function keyOf(row: z.infer<typeof Row>, now: number, pepperId: string): Key {
  return Key.parse({
    id: row.id,
    workspaceId: row.workspace,
    name: row.name,
    prefix: shownPrefix(row.prefix),
    scopes: JSON.parse(row.scopes),
    status: statusOf(row, now, pepperId),
    createdAt: new Date(row.created_at).toISOString(),
    ...time('expiresAt', row.expires_at),
    ...time('rotatedAt', row.rotated_at),
    ...time('overlapEndsAt', row.revoked_at === null ? row.overlap_ends_at : null),
    ...time('revokedAt', row.revoked_at),
    ...time('lastUsedAt', row.last_used_at),
    ...(row.rate_limit !== null && { rateLimit: JSON.parse(row.rate_limit) as unknown }),
    ...(row.budget !== null && { budget: JSON.parse(row.budget) as unknown }),
  });
}

function statusOf(row: z.infer<typeof Row>, now: number, pepperId: string): Key['status'] {
  if (row.revoked_at !== null) return 'revoked';
  if (row.expires_at !== null && row.expires_at <= now) return 'expired';
  return row.pepper === pepperId ? 'active' : 'unusable';
}

function writesKeys({ status, scopes }: Key): boolean {
  return status === 'active' && scopes.some((scope) => scope === '*' || scope === 'keys:write');
}

function time(name: string, at: number | null): Record<string, string> {
  return at === null ? {} : { [name]: new Date(at).toISOString() };
}

function text(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** Returns the value after a change: `undefined` keeps the old value, and `null` removes it. */
function changedTo<Value>(
  change: Value | null | undefined,
  before: Value | undefined,
): Value | undefined {
  return change === undefined ? before : (change ?? undefined);
}

function milliseconds(time: string | undefined): number | null {
  return time === undefined ? null : Date.parse(time);
}

function count(row: Readonly<Record<string, unknown>> | undefined): number {
  return Number(row?.['count']);
}
