import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { A2AError, type ErrorKind } from '../../protocol/index.ts';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import type { NewKey } from './schema.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-keys-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const DAY_MS = 86_400_000;
const ci: NewKey & { workspace: string } = { workspace: 'default', name: 'ci', scopes: ['*'] };

function refuses(work: () => unknown, kind: ErrorKind, says: RegExp): void {
  assert.throws(work, (error) => {
    assert.ok(error instanceof A2AError, String(error));
    assert.equal(error.kind, kind);
    assert.match(error.message, says);
    return true;
  });
}

describe('a key', () => {
  test('has 256 random bits in its secret, of which the register has only a keyed hash', () => {
    const file = path.join(folder, 'hashed.db');
    using gateway = testGateway({ path: file });
    const { key, secret } = gateway.keys.create(ci, 'cli');
    assert.match(secret, /^parley_[0-9a-f]{12}_[\w-]{43}$/);
    assert.ok(secret.startsWith(`${key.prefix}_`));
    assert.equal(gateway.keys.verify(secret)?.id, key.id);
    const random = secret.slice(key.prefix.length + 1);
    const stored = ['', '-wal', '.pepper']
      .map((end) => readFileSync(file + end, 'latin1'))
      .join('');
    assert.ok(stored.includes(key.id));
    for (const text of [random, Buffer.from(random, 'base64url').toString('latin1')]) {
      assert.ok(!stored.includes(text));
    }
  });

  test('is told with its settings, and never with its secret again', () => {
    using gateway = testGateway();
    const { key, secret } = gateway.keys.create(
      {
        workspace: 'team',
        name: '  night build ',
        scopes: ['tasks:read', 'tasks:write', 'tasks:read'],
        expiresAt: '2026-12-01T00:00:00+01:00',
        rateLimit: { requestsPerMinute: 60 },
        budget: { amount: 5, currency: 'EUR', period: 'day' },
      },
      'cli',
    );
    assert.deepEqual(key, {
      id: key.id,
      workspaceId: 'team',
      name: 'night build',
      prefix: secret.slice(0, 19),
      scopes: ['tasks:read', 'tasks:write'],
      status: 'active',
      createdAt: '2026-11-15T12:00:00.000Z',
      expiresAt: '2026-11-30T23:00:00.000Z',
      rateLimit: { requestsPerMinute: 60 },
      budget: { amount: 5, currency: 'EUR', period: 'day' },
    });
    assert.deepEqual(gateway.keys.get('team', key.id), key);
    assert.deepEqual(gateway.keys.list('team'), { items: [key], total: 1 });
    assert.deepEqual(gateway.keys.list('default'), { items: [], total: 0 });
  });

  test('is another one with any letter changed, also where that is the same bytes', () => {
    using gateway = testGateway();
    const { secret } = gateway.keys.create(ci, 'cli');
    for (let at = 0; at < secret.length; at++) {
      const other = secret[at] === 'A' ? 'B' : 'A';
      assert.equal(
        gateway.keys.verify(secret.slice(0, at) + other + secret.slice(at + 1)),
        undefined,
      );
    }
    // The last letter has two bits that decode to nothing.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (const last of alphabet) {
      const text = secret.slice(0, -1) + last;
      assert.equal(gateway.keys.verify(text) !== undefined, text === secret);
    }
  });

  test('is nothing that is too long, not ASCII, or only looks like one', () => {
    using gateway = testGateway();
    const { secret } = gateway.keys.create(ci, 'cli');
    const texts = ['', 'parley_', 'x'.repeat(1e6), `${secret}x`, `${secret}\n`, ` ${secret}`];
    texts.push(secret.repeat(1000), secret.toUpperCase(), secret.replace('parley', 'pärley'));
    texts.push(`parley_' OR 1=1 --_${'A'.repeat(43)}`, `${secret.slice(0, -1)}\u{1F511}`, '\0');
    for (const text of texts) assert.equal(gateway.keys.verify(text), undefined);
    assert.ok(gateway.keys.verify(secret));
  });

  test('keeps a name that looks like SQL as it is, and takes none that a terminal obeys', () => {
    using gateway = testGateway();
    const name = `'); DROP TABLE api_keys; -- "$id" ?1`;
    const { key } = gateway.keys.create({ ...ci, name }, 'cli');
    assert.equal(gateway.keys.get('default', key.id).name, name);
    for (const bad of ['', '   ', 'x'.repeat(101), 'a\nb', '\u001b[31m', 'a\u202eb']) {
      refuses(() => gateway.keys.create({ ...ci, name: bad }, 'cli'), 'invalidParams', /^name: /);
    }
  });

  test('is refused with a scope, a workspace, a time or a budget that cannot be', () => {
    using gateway = testGateway();
    const create = (fields: object) => () => gateway.keys.create({ ...ci, ...fields }, 'cli');
    refuses(create({ scopes: ['tasks:fly'] }), 'invalidParams', /^scopes\.0: one of tasks:read/);
    refuses(create({ scopes: [] }), 'invalidParams', /at least one scope/);
    refuses(create({ workspace: '../etc' }), 'invalidParams', /letters, digits and/);
    refuses(create({ expiresAt: '2026-11-15T12:00:00Z' }), 'invalidParams', /in the future/);
    refuses(create({ expiresAt: 'soon' }), 'invalidParams', /^expiresAt: /);
    refuses(create({ budget: { period: 'day' } }), 'invalidParams', /tokens, an amount, or both/);
    const amount = { amount: 5, period: 'day' };
    refuses(create({ budget: amount }), 'invalidParams', /currency must be set together/);
    refuses(create({ rateLimit: { requestsPerMinute: 0 } }), 'invalidParams', /^rateLimit/);
    assert.equal(gateway.keys.any(), false);
  });

  test('draws another prefix where the first is taken', () => {
    let drawn = 0;
    const prefixes = ['aa', 'aa', 'aa', 'bb'];
    const random = (bytes: number) =>
      bytes === 6 ? Buffer.from((prefixes[drawn++] ?? 'cc').repeat(6), 'hex') : randomBytes(bytes);
    using gateway = testGateway({ random });
    const [one, two] = [gateway.keys.create(ci, 'cli'), gateway.keys.create(ci, 'cli')];
    assert.deepEqual(
      [one.key.prefix, two.key.prefix],
      ['parley_aaaaaaaaaaaa', 'parley_bbbbbbbbbbbb'],
    );
    assert.equal(gateway.keys.verify(one.secret)?.id, one.key.id);
    assert.equal(gateway.keys.verify(two.secret)?.id, two.key.id);
  });

  test('is one of a thousand in its workspace; revoked ones do not count', () => {
    using gateway = testGateway();
    const made = Array.from({ length: 1000 }, () => gateway.keys.create(ci, 'cli'));
    refuses(() => gateway.keys.create(ci, 'cli'), 'conflict', /at most 1000 keys/);
    assert.ok(gateway.keys.create({ ...ci, workspace: 'other' }, 'cli'));
    gateway.keys.revoke('default', made[0]?.key.id ?? '', {}, 'cli');
    assert.ok(gateway.keys.create(ci, 'cli'));
    const page = gateway.keys.list('default', { limit: 2, offset: 999 });
    assert.deepEqual([page.items.length, page.total], [2, 1001]);
  });

  test('says when it was last used, to the minute', () => {
    using gateway = testGateway();
    const { key, secret } = gateway.keys.create(ci, 'cli');
    const used = () => gateway.keys.get('default', key.id).lastUsedAt;
    assert.equal(used(), undefined);
    gateway.keys.verify(secret);
    assert.equal(used(), '2026-11-15T12:00:00.000Z');
    gateway.clock.time += 59_999;
    gateway.keys.verify(secret);
    assert.equal(used(), '2026-11-15T12:00:00.000Z');
    gateway.clock.time += 1;
    gateway.keys.verify(secret);
    assert.equal(used(), '2026-11-15T12:01:00.000Z');
  });
});

describe('a rotation', () => {
  test('gives the same key a new secret, and the old one ends at once', () => {
    using gateway = testGateway();
    const { key, secret } = gateway.keys.create(ci, 'cli');
    gateway.keys.verify(secret);
    const rotated = gateway.keys.rotate('default', key.id, {}, 'cli');
    assert.equal(rotated.key.id, key.id);
    assert.notEqual(rotated.key.prefix, key.prefix);
    assert.equal(gateway.keys.verify(secret), undefined);
    assert.equal(gateway.keys.verify(rotated.secret)?.id, key.id);
  });

  test('with an overlap leaves the old secret valid until it ends, and no longer', () => {
    using gateway = testGateway();
    const { key, secret } = gateway.keys.create(ci, 'cli');
    const rotated = gateway.keys.rotate('default', key.id, { overlapSeconds: 60 }, 'cli');
    assert.equal(rotated.key.overlapEndsAt, '2026-11-15T12:01:00.000Z');
    gateway.clock.time += 59_999;
    assert.equal(gateway.keys.verify(secret)?.id, key.id);
    gateway.clock.time += 1;
    assert.equal(gateway.keys.verify(secret), undefined);
    assert.equal(gateway.keys.verify(rotated.secret)?.id, key.id);
    assert.equal(gateway.keys.get('default', key.id).overlapEndsAt, undefined);
  });

  test('never lengthens an overlap, and has a limit on how many there are', () => {
    using gateway = testGateway();
    const { key, secret } = gateway.keys.create(ci, 'cli');
    const rotate = (overlapSeconds: number) =>
      gateway.keys.rotate('default', key.id, { overlapSeconds }, 'cli');
    rotate(60);
    for (let times = 0; times < 3; times++) rotate(3600);
    refuses(() => rotate(3600), 'conflict', /Too many secrets/);
    gateway.clock.time += 60_000;
    assert.equal(gateway.keys.verify(secret), undefined);
    assert.ok(rotate(3600));
    refuses(() => rotate(2_592_001), 'invalidParams', /^overlapSeconds/);
  });

  test('is refused for a key that is revoked or expired', () => {
    using gateway = testGateway();
    const { key } = gateway.keys.create({ ...ci, expiresAt: '2026-11-16T12:00:00Z' }, 'cli');
    gateway.clock.time += DAY_MS;
    const rotate = () => gateway.keys.rotate('default', key.id, {}, 'cli');
    refuses(rotate, 'conflict', /The key is expired/);
    gateway.keys.revoke('default', key.id, {}, 'cli');
    refuses(rotate, 'conflict', /The key is revoked/);
  });
});

describe('an end', () => {
  test('by expiry holds from its moment on', () => {
    using gateway = testGateway();
    const expiresAt = new Date(gateway.clock.time + 1000).toISOString();
    const { key, secret } = gateway.keys.create({ ...ci, expiresAt }, 'cli');
    assert.ok(gateway.keys.verify(secret));
    gateway.clock.time += 1000;
    assert.equal(gateway.keys.verify(secret), undefined);
    assert.equal(gateway.reopened().verify(secret), undefined);
    assert.equal(gateway.keys.get('default', key.id).status, 'expired');
  });

  test('by revocation holds for every secret of the key, whatever the clock says', () => {
    using gateway = testGateway();
    gateway.keys.create(ci, 'cli');
    const { key, secret } = gateway.keys.create(ci, 'cli');
    const rotated = gateway.keys.rotate('default', key.id, { overlapSeconds: 600 }, 'cli');
    gateway.keys.revoke('default', key.id, {}, 'cli');
    gateway.clock.time -= 30 * DAY_MS;
    for (const text of [secret, rotated.secret]) {
      assert.equal(gateway.keys.verify(text), undefined);
      assert.equal(gateway.reopened().verify(text), undefined);
    }
    const again = gateway.keys.revoke('default', key.id, {}, 'cli');
    assert.equal(again.revokedAt, '2026-11-15T12:00:00.000Z');
  });

  test('by rotation holds when the clock is set back', () => {
    using gateway = testGateway();
    const { key, secret } = gateway.keys.create(ci, 'cli');
    gateway.keys.rotate('default', key.id, {}, 'cli');
    gateway.clock.time -= DAY_MS;
    assert.equal(gateway.keys.verify(secret), undefined);
  });

  test('of the last key that can write keys needs force', () => {
    using gateway = testGateway();
    const { key } = gateway.keys.create({ ...ci, scopes: ['keys:write'] }, 'cli');
    gateway.keys.create({ ...ci, scopes: ['tasks:write'] }, 'cli');
    gateway.keys.create({ ...ci, workspace: 'other' }, 'cli');
    const soon = new Date(gateway.clock.time + 1000).toISOString();
    gateway.keys.create({ ...ci, expiresAt: soon }, 'cli');
    gateway.clock.time += 1000;
    const revoke = (force: boolean) => gateway.keys.revoke('default', key.id, { force }, 'cli');
    refuses(() => revoke(false), 'conflict', /last key with the scope keys:write/);
    assert.equal(gateway.keys.get('default', key.id).status, 'active');
    assert.equal(revoke(true).status, 'revoked');
  });

  test('of a key in another workspace is that of none', () => {
    using gateway = testGateway();
    const { key, secret } = gateway.keys.create(ci, 'cli');
    for (const id of [key.id, 'none']) {
      refuses(() => gateway.keys.get('other', id), 'notFound', /^The workspace has no such key$/);
      refuses(
        () => gateway.keys.rotate('other', id, {}, 'x'),
        'notFound',
        /^The workspace has no such key$/,
      );
      refuses(
        () => gateway.keys.revoke('other', id, {}, 'x'),
        'notFound',
        /^The workspace has no such key$/,
      );
    }
    assert.ok(gateway.keys.verify(secret));
  });

  test('leaves the newest thousand of the revoked to be seen, and holds where it is none of them', () => {
    using gateway = testGateway();
    gateway.keys.create(ci, 'cli');
    for (let at = 0; at < 1001; at++) {
      const { key } = gateway.keys.create({ ...ci, name: `${at}` }, 'cli');
      gateway.clock.time += 1;
      gateway.keys.revoke('default', key.id, {}, 'cli');
    }
    const { items, total } = gateway.keys.list('default');
    assert.equal(total, 1001);
    assert.deepEqual([items[0]?.name, items[999]?.name, items[1000]?.name], ['1000', '1', 'ci']);
    gateway.clock.time -= DAY_MS;
    const { key, secret } = gateway.keys.create(ci, 'cli');
    assert.equal(gateway.keys.revoke('default', key.id, {}, 'cli').status, 'revoked');
    assert.equal(gateway.keys.verify(secret), undefined);
  });
});

describe('another process', () => {
  test('that makes or revokes a key is heeded in the next turn of the event loop', async () => {
    const file = path.join(folder, 'shared.db');
    using gateway = testGateway({ path: file });
    using other = testGateway({ path: file });
    const { key, secret } = other.keys.create(ci, 'cli');
    assert.equal(gateway.keys.verify(secret)?.id, key.id);
    assert.equal(gateway.keys.verify(secret)?.id, key.id);
    other.keys.revoke('default', key.id, { force: true }, 'cli');
    await nextTurn();
    assert.equal(gateway.keys.verify(secret), undefined);
  });
});

test('a wrong secret with the prefix of a key in use is refused, and the key goes on working', () => {
  using gateway = testGateway();
  const { key, secret } = gateway.keys.create(ci, 'cli');
  const wrong = secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A');
  assert.equal(gateway.keys.verify(secret)?.id, key.id);
  assert.equal(gateway.keys.verify(wrong), undefined);
  assert.equal(gateway.keys.verify(`${wrong}A`), undefined);
  assert.equal(gateway.keys.verify(secret)?.id, key.id);
});

test('every change has its line in the audit log, without a secret', () => {
  using gateway = testGateway();
  const { key, secret } = gateway.keys.create(ci, 'cli');
  const rotated = gateway.keys.rotate('default', key.id, { overlapSeconds: 5 }, 'key:1');
  gateway.keys.revoke('default', key.id, { force: true }, 'oidc:ann');
  const lines = gateway.audit.list('default', { limit: 10 });
  assert.deepEqual(
    lines.map(({ actor, action, subject }) => [actor, action, subject]),
    [
      ['oidc:ann', 'key.revoke', key.id],
      ['key:1', 'key.rotate', key.id],
      ['cli', 'key.create', key.id],
    ],
  );
  for (const text of [secret, rotated.secret]) {
    assert.ok(!JSON.stringify(lines).includes(text.slice(20)));
  }
});

test('a change that fails leaves neither a key nor a line', () => {
  using gateway = testGateway();
  gateway.register.db.exec('DROP TABLE audit');
  assert.throws(() => gateway.keys.create(ci, 'cli'));
  assert.equal(gateway.keys.any(), false);
});
