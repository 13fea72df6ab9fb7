/**
 * Creates, lists, changes, rotates and revokes API keys, with an audit entry for each change. A secret is returned only
 * by the call that creates it. The register (the gateway's database) stores only a keyed hash of the secret.
 *
 *   const { key, secret } = await keys.create({ workspace: 'default', name: 'ci', scopes: ['tasks:write'] }, 'cli');
 *   (await keys.verify(secret))?.id === key.id;
 *
 * The methods return promises only if the register is in PostgreSQL.
 */
import { randomUUIDv7 } from 'node:crypto';
import * as z from 'zod';
import type { MaybePromise } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { consoleLogger, type Logger } from '../../tasks/index.ts';
import { type Register, type Row, statement, type Steps } from '../register/register.ts';
import type { PageQuery } from '../api/fields.ts';
import { parsed } from '../api/route.ts';
import type { Audit } from '../audit/audit.ts';
import type { Pepper } from './pepper.ts';
import { Key, KeyChange, type MadeKey, NewKey, Rotation, WorkspaceName } from './schema.ts';
import { makeToken, type RandomBytes, shownPrefix, type Token } from './token.ts';
import { createVerifier, StoredKey } from './verifier.ts';

/** Maximum number of keys of a workspace that are not revoked. */
const MAX_KEYS_PER_WORKSPACE = 1000;
/** Maximum number of revoked keys of a workspace that are still listed. */
const MAX_REVOKED_PER_WORKSPACE = 1000;
/** Maximum number of keys of a workspace, including revoked keys. */
export const MAX_LISTED = MAX_KEYS_PER_WORKSPACE + MAX_REVOKED_PER_WORKSPACE;
/** Maximum number of secrets of one key that are valid at the same time, while rotations overlap. */
const MAX_SECRETS_PER_KEY = 5;
const PREFIX_TRIES = 10;

export type Keys = ReturnType<typeof createKeys>;

export interface KeysOptions {
  readonly register: Register;
  readonly audit: Audit;
  readonly pepper: Pepper;
  readonly logger?: Logger;
  readonly now?: () => number;
  readonly random?: RandomBytes;
}

const KeyRow = StoredKey.extend({
  budget: z.string().nullable(),
  created_at: z.number(),
  rotated_at: z.number().nullable(),
  prefix: z.string(),
  pepper: z.string(),
  overlap_ends_at: z.number().nullable(),
});

const LIVE = `k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $now)`;
/** A limit that no table reaches. PostgreSQL has no -1 for "no limit", and SQLite has no OFFSET without a limit. */
const NO_LIMIT = 1_000_000_000;
const SELECT = `
  SELECT k.*, s.prefix, s.pepper,
    (SELECT max(old.ends_at) FROM key_secrets old WHERE old.key_id = k.id AND old.ends_at > $now)
      AS overlap_ends_at
  FROM api_keys k JOIN key_secrets s ON s.key_id = k.id AND s.ends_at IS NULL
  WHERE k.workspace = $workspace`;

const SQL = {
  one: statement(`${SELECT} AND k.id = $id`),
  page: statement(`${SELECT} ORDER BY k.created_at DESC, k.id DESC LIMIT $limit OFFSET $offset`),
  total: statement('SELECT count(*) AS count FROM api_keys WHERE workspace = ?'),
  unrevoked: statement(
    'SELECT count(*) AS count FROM api_keys WHERE workspace = ? AND revoked_at IS NULL',
  ),
  any: statement('SELECT 1 FROM api_keys LIMIT 1'),
  unusable: statement(`
      SELECT count(*) AS count FROM api_keys k JOIN key_secrets s ON s.key_id = k.id
      WHERE s.ends_at IS NULL AND s.pepper <> $pepper AND ${LIVE}`),
  prefix: statement('SELECT 1 FROM key_secrets WHERE prefix = ?'),
  add: statement(`
      INSERT INTO api_keys (id, workspace, name, scopes, rate_limit, budget, created_at, expires_at)
      VALUES ($id, $workspace, $name, $scopes, $rateLimit, $budget, $createdAt, $expiresAt)`),
  addSecret: statement(
    'INSERT INTO key_secrets (prefix, key_id, hash, pepper) VALUES (?, ?, ?, ?)',
  ),
  secrets: statement('SELECT count(*) AS count FROM key_secrets WHERE key_id = ?'),
  dropSecrets: statement('DELETE FROM key_secrets WHERE key_id = ?'),
  dropEnded: statement('DELETE FROM key_secrets WHERE key_id = ? AND ends_at <= ?'),
  dropOldSecrets: statement('DELETE FROM key_secrets WHERE key_id = ? AND ends_at IS NOT NULL'),
  endSecrets: statement(
    'UPDATE key_secrets SET ends_at = ?1 WHERE key_id = ?2 AND (ends_at IS NULL OR ends_at > ?1)',
  ),
  edit: statement(`
      UPDATE api_keys SET name = $name, scopes = $scopes, rate_limit = $rateLimit, budget = $budget,
        expires_at = $expiresAt WHERE id = $id`),
  rotated: statement('UPDATE api_keys SET rotated_at = ? WHERE id = ?'),
  revoke: statement('UPDATE api_keys SET revoked_at = ? WHERE id = ?'),
  others: statement(`
      SELECT k.scopes FROM api_keys k JOIN key_secrets s ON s.key_id = k.id
      WHERE k.workspace = $workspace AND k.id <> $id AND s.ends_at IS NULL AND s.pepper = $pepper
        AND ${LIVE}`),
  tooOld: statement(`
      SELECT id FROM api_keys WHERE workspace = ? AND revoked_at IS NOT NULL
      ORDER BY revoked_at DESC, id DESC LIMIT ${NO_LIMIT} OFFSET ?`),
  drop: statement('DELETE FROM api_keys WHERE id = ?'),
};

export function createKeys(options: KeysOptions) {
  const { register, audit, pepper, logger = consoleLogger, now = Date.now, random } = options;

  function* find(workspace: string, id: string): Steps<Key> {
    const row = yield* SQL.one.get({ workspace, id, now: now() });
    if (!row) throw new A2AError('notFound', 'The workspace has no such key');
    return keyOf(KeyRow.parse(row), now(), pepper.id);
  }

  /** Creates a token with an unused prefix, because a prefix must identify exactly one secret. */
  function* unusedToken(): Steps<Token> {
    for (let tries = 0; tries < PREFIX_TRIES; tries++) {
      const token = makeToken(random);
      if (!(yield* SQL.prefix.get(token.prefix))) return token;
    }
    throw new Error('found no unused key prefix');
  }

  function* addSecret(id: string): Steps<string> {
    const { prefix, text } = yield* unusedToken();
    yield* SQL.addSecret.run(prefix, id, pepper.hash(text), pepper.id);
    return text;
  }

  function* needOtherWriter(workspace: string, id: string): Steps<void> {
    const others = yield* SQL.others.all({ workspace, id, pepper: pepper.id, now: now() });
    if (others.some(({ scopes }) => hasKeysWrite(scopesIn(scopes)))) return;
    throw new A2AError(
      'conflict',
      'This is the last key with the scope keys:write in its workspace: create another one first, or use ?force=true',
    );
  }

  return {
    /**
     * Creates a key and its secret. Throws `invalidParams` if a field is invalid, and `conflict` if the workspace has
     * too many keys.
     */
    create(
      { workspace: name, ...fields }: NewKey & { readonly workspace: string },
      actor: string,
    ): MaybePromise<MadeKey> {
      const { workspace } = parsed(z.object({ workspace: WorkspaceName }), { workspace: name });
      const wanted = parsed(NewKey, fields);
      const expiresAt = wanted.expiresAt === undefined ? null : Date.parse(wanted.expiresAt);
      if (expiresAt !== null && expiresAt <= now()) {
        throw new A2AError('invalidParams', 'expiresAt: must be in the future');
      }
      const scopes = [...new Set(wanted.scopes)];
      return register.change(function* () {
        if (count(yield* SQL.unrevoked.get(workspace)) >= MAX_KEYS_PER_WORKSPACE) {
          throw new A2AError(
            'conflict',
            `A workspace can have at most ${MAX_KEYS_PER_WORKSPACE} keys: revoke one first`,
          );
        }
        const id = randomUUIDv7();
        yield* SQL.add.run({
          id,
          workspace,
          name: wanted.name,
          scopes: JSON.stringify(scopes),
          rateLimit: text(wanted.rateLimit),
          budget: text(wanted.budget),
          createdAt: now(),
          expiresAt,
        });
        const secret = yield* addSecret(id);
        const detail = { ...wanted, scopes };
        yield* audit.record({ workspace, actor, action: 'key.create', subject: id, detail });
        return { key: yield* find(workspace, id), secret };
      });
    },

    /** Lists the keys of the workspace, newest first. */
    list: (workspace: string, { limit = MAX_LISTED, offset = 0 }: Partial<PageQuery> = {}) =>
      register.read(function* () {
        const rows = yield* SQL.page.all({ workspace, limit, offset, now: now() });
        return {
          items: rows.map((row) => keyOf(KeyRow.parse(row), now(), pepper.id)),
          total: count(yield* SQL.total.get(workspace)),
        };
      }),

    /** Returns a key. Throws `notFound` if the workspace has no such key. */
    get: (workspace: string, id: string) => register.read(() => find(workspace, id)),

    /**
     * Changes the settings of a key. This takes effect at once, and on other nodes usually within a second. Throws
     * `conflict` if the key is revoked. Unless `force` is true, also throws `conflict` if the change removes
     * `keys:write` from the workspace's last active key with this scope.
     */
    edit(
      workspace: string,
      id: string,
      change: KeyChange,
      actor: string,
      { force = false }: { readonly force?: boolean } = {},
    ): MaybePromise<Key> {
      const wanted = parsed(KeyChange, change);
      const { expiresAt } = wanted;
      if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= now()) {
        throw new A2AError(
          'invalidParams',
          'expiresAt: must be in the future: to end a key, revoke it',
        );
      }
      return register.change(function* () {
        const before = yield* find(workspace, id);
        if (before.status === 'revoked') {
          throw new A2AError('conflict', 'The key is revoked: create a new one');
        }
        const scopes = wanted.scopes && [...new Set(wanted.scopes)];
        const after = { ...before, ...(scopes && { scopes }) };
        if (!force && writesKeys(before) && !writesKeys(after))
          yield* needOtherWriter(workspace, id);
        yield* SQL.edit.run({
          id,
          name: wanted.name ?? before.name,
          scopes: JSON.stringify(after.scopes),
          rateLimit: text(changedTo(wanted.rateLimit, before.rateLimit)),
          budget: text(changedTo(wanted.budget, before.budget)),
          expiresAt: milliseconds(changedTo(expiresAt, before.expiresAt)),
        });
        const detail = { ...wanted, ...(scopes && { scopes }) };
        yield* audit.record({ workspace, actor, action: 'key.edit', subject: id, detail });
        return yield* find(workspace, id);
      });
    },

    /**
     * Gives the key a new secret. Its old secrets work until the overlap ends. Throws `conflict` if the key is revoked
     * or expired, or if too many of its secrets are still valid.
     */
    rotate(
      workspace: string,
      id: string,
      rotation: Rotation,
      actor: string,
    ): MaybePromise<MadeKey> {
      const { overlapSeconds = 0 } = parsed(Rotation, rotation);
      return register.change(function* () {
        const { status } = yield* find(workspace, id);
        if (status === 'revoked' || status === 'expired') {
          throw new A2AError('conflict', `The key is ${status}: create a new one`);
        }
        const time = now();
        // Ended secrets are deleted, so that they do not become valid again if the clock is set back.
        yield* SQL.dropEnded.run(id, time);
        if (overlapSeconds === 0) yield* SQL.dropSecrets.run(id);
        else yield* SQL.endSecrets.run(time + overlapSeconds * 1000, id);
        if (count(yield* SQL.secrets.get(id)) >= MAX_SECRETS_PER_KEY) {
          throw new A2AError(
            'conflict',
            'Too many secrets of this key are still valid: rotate it without overlapSeconds',
          );
        }
        const secret = yield* addSecret(id);
        yield* SQL.rotated.run(time, id);
        const detail = { overlapSeconds };
        yield* audit.record({ workspace, actor, action: 'key.rotate', subject: id, detail });
        return { key: yield* find(workspace, id), secret };
      });
    },

    /**
     * Revokes a key. This cannot be undone. It takes effect at once, and on other nodes usually within a second. Unless
     * `force` is true, throws `conflict` for the workspace's last active key with `keys:write`. Does nothing if the key
     * is already revoked.
     */
    revoke: (
      workspace: string,
      id: string,
      { force = false }: { readonly force?: boolean },
      actor: string,
    ) =>
      register.change(function* () {
        const key = yield* find(workspace, id);
        if (key.status === 'revoked') return key;
        if (!force && writesKeys(key)) yield* needOtherWriter(workspace, id);
        yield* SQL.revoke.run(now(), id);
        yield* SQL.dropOldSecrets.run(id);
        yield* audit.record({ workspace, actor, action: 'key.revoke', subject: id });
        // Read the key before old keys are removed, because the key may be among the old keys if the clock was set
        // back.
        const revoked = yield* find(workspace, id);
        const tooOld = yield* SQL.tooOld.all(workspace, MAX_REVOKED_PER_WORKSPACE);
        for (const { id: old } of tooOld) {
          yield* SQL.dropSecrets.run(String(old));
          yield* SQL.drop.run(String(old));
        }
        return revoked;
      }),

    /** Returns whether the register has any key, in any workspace. */
    any: () =>
      register.read(function* () {
        return (yield* SQL.any.get()) !== undefined;
      }),
    /**
     * Returns the number of keys that cannot be verified, because they were created with another pepper. Expired and
     * revoked keys are not counted.
     */
    unusable: () =>
      register.read(function* () {
        return count(yield* SQL.unusable.get({ pepper: pepper.id, now: now() }));
      }),
    verify: createVerifier({ register, pepper, logger, now }),
  };
}

function keyOf(row: z.infer<typeof KeyRow>, now: number, pepperId: string): Key {
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

function statusOf(row: z.infer<typeof KeyRow>, now: number, pepperId: string): Key['status'] {
  if (row.revoked_at !== null) return 'revoked';
  if (row.expires_at !== null && row.expires_at <= now) return 'expired';
  return row.pepper === pepperId ? 'active' : 'unusable';
}

function writesKeys({ status, scopes }: Key): boolean {
  return status === 'active' && hasKeysWrite(scopes);
}

function hasKeysWrite(scopes: readonly string[]): boolean {
  return scopes.includes('*') || scopes.includes('keys:write');
}

function scopesIn(json: unknown): string[] {
  return z.array(z.string()).parse(JSON.parse(String(json)));
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

function count(row: Row | undefined): number {
  return Number(row?.['count']);
}
