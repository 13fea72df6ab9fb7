/** The contract of the gateway's register: what is stored in it behaves the same in SQLite and in PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { A2AError } from '../../src/protocol/index.ts';
import { createAgents } from '../../src/gateway/agents/agents.ts';
import { createTaskLinks } from '../../src/gateway/agents/task-links.ts';
import { createAudit } from '../../src/gateway/audit/audit.ts';
import { createSpending } from '../../src/gateway/budgets/spending.ts';
import { createCards } from '../../src/gateway/cards/cards.ts';
import { createKeys } from '../../src/gateway/keys/keys.ts';
import { openPepper } from '../../src/gateway/keys/pepper.ts';
import { openPostgresRegister } from '../../src/gateway/register/postgres-register.ts';
import { type Register, statement } from '../../src/gateway/register/register.ts';
import { openRegister } from '../../src/gateway/register/sqlite-register.ts';
import { SecretBox, secretKeys } from '../../src/store/index.ts';
import { ann, body } from '../gateway/cards-support.ts';
import { testDatabase, type TestDatabase } from '../support/postgres.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const ALL = ['*' as const];

const isKind = (kind: string) => (error: unknown) =>
  error instanceof A2AError && error.kind === kind;

/** The tests are run in the order of this file, on one register. Each has its own workspace. */
function contract(open: () => Promise<Register>): void {
  let register: Register;
  before(async () => void (register = await open()));
  after(async () => register.close());

  const parts = (secretKey = 'secret', now = Date.now) => {
    const audit = createAudit({ register });
    const pepper = openPepper({ register, secretKey });
    return { audit, keys: createKeys({ register, audit, pepper, logger: silent, now }) };
  };

  test('a key is created, found by its secret, changed, rotated and revoked', async () => {
    const { keys, audit } = parts();
    const made = await keys.create({ workspace: 'keys', name: 'first', scopes: ALL }, 'cli');
    const { id } = made.key;
    assert.equal((await keys.verify(made.secret))?.id, id);
    const verified = await Promise.all([1, 2, 3].map(async () => keys.verify(made.secret)));
    assert.deepEqual(new Set(verified.map((key) => key?.id)), new Set([id]));
    const budget = { tokens: 5, period: 'day' as const };
    const changed = await keys.edit('keys', id, { name: 'second', budget }, `key:${id}`);
    assert.deepEqual([changed.name, changed.budget], ['second', budget]);
    assert.equal((await keys.verify(made.secret))?.name, 'second');
    const rotated = await keys.rotate('keys', id, { overlapSeconds: 60 }, 'cli');
    assert.ok(rotated.key.overlapEndsAt !== undefined);
    assert.equal((await keys.verify(made.secret))?.id, id);
    assert.equal((await keys.verify(rotated.secret))?.id, id);
    await keys.rotate('keys', id, {}, 'cli');
    assert.equal(await keys.verify(made.secret), undefined);
    await assert.rejects(async () => keys.revoke('keys', id, {}, 'cli'), isKind('conflict'));
    const revoked = await keys.revoke('keys', id, { force: true }, 'cli');
    assert.equal(revoked.status, 'revoked');
    assert.equal(await keys.verify(rotated.secret), undefined);
    const { items, total } = await keys.list('keys');
    assert.deepEqual([items.map((key) => key.id), total], [[id], 1]);
    await assert.rejects(async () => keys.get('another', id), isKind('notFound'));
    const entries = await audit.list('keys', { limit: 3, before: 3 });
    assert.deepEqual(
      entries.map(({ number, action, actorName }) => ({ number, action, actorName })),
      [
        { number: 2, action: 'key.edit', actorName: 'second' },
        { number: 1, action: 'key.create', actorName: undefined },
      ],
    );
  });

  test('the audit log is filtered by actor, action, subject and day, also across its pages', async () => {
    const clock = { time: Date.parse('2026-11-14T23:00:00Z') };
    const audit = createAudit({ register, now: () => clock.time });
    const keys = createKeys({
      register,
      audit,
      pepper: openPepper({ register, secretKey: 'secret' }),
      logger: silent,
    });
    const { key } = await keys.create(
      { workspace: 'filters', name: "o'ann %", scopes: ALL },
      'cli',
    );
    clock.time += 2 * 3_600_000;
    for (const subject of ['c1', 'c2', 'c1']) {
      const entry = {
        workspace: 'filters',
        actor: `key:${key.id}`,
        action: 'card.update',
        subject,
      };
      await register.change(() => audit.record(entry));
    }
    const theirs = { workspace: 'other', actor: 'cli', action: 'card.update', subject: 'c1' };
    await register.change(() => audit.record(theirs));
    const numbers = async (filter: object, page = {}) =>
      (await audit.list('filters', { limit: 10, filter, ...page })).map(({ number }) => number);
    assert.deepEqual(await numbers({ actor: "o'ann %" }), [4, 3, 2]);
    assert.deepEqual(await numbers({ actor: `key:${key.id}`, subject: 'c1' }), [4, 2]);
    assert.deepEqual(await numbers({ actor: `key:${key.id}`, subject: 'c1' }, { before: 4 }), [2]);
    assert.deepEqual(await numbers({ action: 'card.update' }, { limit: 2 }), [4, 3]);
    assert.deepEqual(await numbers({ action: 'card' }), [4, 3, 2]);
    assert.deepEqual(await numbers({ action: 'key' }), [1]);
    assert.deepEqual(await numbers({ action: 'k' }), []);
    assert.deepEqual(await numbers({ action: '%' }), []);
    assert.deepEqual(await numbers({ to: '2026-11-14' }), [1]);
    assert.deepEqual(await numbers({ from: '2026-11-15', to: '2026-11-15' }), [4, 3, 2]);
    assert.deepEqual(await numbers({ from: '2026-11-16' }), []);
  });

  test('a key with another pepper is unusable', async () => {
    const { keys } = parts('secret');
    const others = parts('another secret').keys;
    const fields = { workspace: 'peppers', name: 'theirs', scopes: ALL };
    const { key, secret } = await others.create(fields, 'cli');
    assert.equal(await keys.verify(secret), undefined);
    assert.equal((await keys.get('peppers', key.id)).status, 'unusable');
    assert.equal(await keys.unusable(), 1);
    assert.equal(await keys.any(), true);
  });

  test('a change that fails is not stored, and neither is its audit entry', async () => {
    const { audit } = parts();
    const entry = { workspace: 'undone', actor: 'cli', action: 'key.create', subject: 'x' };
    const failing = async () =>
      register.change(function* () {
        yield* audit.record(entry);
        throw new A2AError('conflict', 'undo');
      });
    await assert.rejects(failing, isKind('conflict'));
    assert.deepEqual(await audit.list('undone', { limit: 5 }), []);
  });

  test('changes at the same time have different audit numbers, without gaps', async () => {
    const { audit } = parts();
    const record = (n: number) =>
      register.change(() =>
        audit.record({ workspace: 'many', actor: 'cli', action: 'card.update', subject: `${n}` }),
      );
    await Promise.all(Array.from({ length: 10 }, async (_, n) => record(n)));
    const numbers = (await audit.list('many', { limit: 20 })).map(({ number }) => number);
    assert.deepEqual(numbers, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  test('each change of keys, cards or agents is noticed', async () => {
    const before = register.changed();
    const { audit } = parts();
    await createCards({ register, audit }).create(ann, body({ name: 'Noticed' }));
    assert.notEqual(register.changed(), before);
    await register.check();
  });

  test('the budget of a workspace comes first, then those of its keys and its JWT subjects, in pages of at most the limit', async () => {
    let time = Date.now();
    const { keys } = parts('secret', () => ++time);
    const budget = { tokens: 1000, period: 'month' as const };
    for (const name of ['one', 'two']) {
      await keys.create({ workspace: 'payers', name, scopes: ALL, budget }, 'cli');
    }
    const own = { tokens: 7, period: 'day' as const };
    const others = { tokens: 9, period: 'total' as const };
    const spending = createSpending({
      register,
      logger: silent,
      config: {
        workspaces: { payers: { tokens: 5000, period: 'month' } },
        subjects: { 'payers/zoe': own, 'payers/ann': own, 'payers/*': others, 'x/y': own },
      },
    });
    for (const subject of ['bob', 'zoe', 'Éva', '*', 'bob']) {
      const use = { workspace: 'payers', subject, inputTokens: 1, outputTokens: 2 };
      spending.record({ ...use, model: `for ${subject}` });
      spending.record({ ...use, model: 'common' });
    }
    spending.record({ workspace: 'strangers', subject: 'eve', inputTokens: 1, outputTokens: 2 });
    const page = async (limit: number, offset: number, workspace = 'payers') => {
      const { items, next } = await spending.budgets(workspace, { limit, offset });
      const shown = items.map(({ keyName, subject, budget: { tokens }, spent }) =>
        [keyName ?? subject ?? 'workspace', tokens, spent.tokens].join(' '),
      );
      return { shown, next };
    };
    const all = (await page(100, 0)).shown;
    assert.deepEqual(all.slice(0, 2), ['workspace 5000 30', 'two 1000 0']);
    assert.deepEqual(all.slice(2, 5), ['one 1000 0', 'ann 7 0', 'zoe 7 6']);
    // The others are in the order of the database.
    assert.deepEqual(new Set(all.slice(5)), new Set(['bob 9 12', 'Éva 9 6', '* 9 6']));
    for (const limit of [1, 2, 3, 4, 8]) {
      const found: string[] = [];
      let offset: number | undefined = 0;
      while (offset !== undefined) {
        const part = await page(limit, offset);
        assert.ok(
          part.shown.length <= limit,
          `${part.shown.length} rows, but the limit is ${limit}`,
        );
        found.push(...part.shown);
        offset = part.next;
      }
      assert.deepEqual(found, all, `${limit} at a time`);
    }
    for (const offset of [100, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      assert.deepEqual(await page(5, offset), { shown: [], next: undefined });
    }
    assert.deepEqual(await page(5, 0, 'strangers'), { shown: [], next: undefined });
    await spending.close();
  });

  test('ids with a NUL character are found again, and only by themselves', async () => {
    const links = createTaskLinks({ register, logger: silent, secrets: undefined });
    const ids = ['a\0', 'a\uffff', 'a\uffff0000', 'a'];
    for (const id of ids) {
      const link = { workspace: 'odd', agent: 'a', taskId: id, contextId: id, sender: {} };
      await links.save({ ...link, remoteTaskId: `remote ${id}`, remoteContextId: undefined });
    }
    for (const id of ids) assert.equal(await links.task('odd', 'a', id), `remote ${id}`);
  });

  test('a link is found by its task and its context, and the last one counts', async () => {
    const links = createTaskLinks({ register, logger: silent, secrets: undefined });
    const link = { workspace: 'links', agent: 'a', contextId: 'c', remoteContextId: undefined };
    const save = (taskId: string, remote: string, headers = {}) =>
      links.save({
        ...link,
        taskId,
        remoteTaskId: `task ${remote}`,
        remoteContextId: `context ${remote}`,
        sender: { keyId: 'k', headers },
      });
    await Promise.all([save('t1', 'one'), save('t2', 'two')]);
    await save('t1', 'three', { authorization: 'secret' });
    assert.equal(await links.task('links', 'a', 't1'), 'task three');
    assert.equal(await links.context('links', 'a', 'c'), 'context three');
    const sender = { keyId: 'k', headers: { authorization: 'secret' } };
    assert.deepEqual(await links.sender('links', 'a', 't1'), sender);
    assert.equal(await links.task('links', 'b', 't1'), undefined);
    await links.prune(Date.now() + 100 * 86_400_000, new AbortController().signal);
    assert.equal(await links.task('links', 'a', 't2'), undefined);
  });

  test('a registered agent is stored with its headers encrypted, changed and removed', async () => {
    const { audit } = parts();
    const secrets = new SecretBox(secretKeys({ secretKey: 'secret' }), Buffer.from('salt'));
    const open = async () => {
      const agents = createAgents({ register, audit, secrets, logger: silent });
      await agents.load();
      return agents;
    };
    await using agents = Object.assign(await open(), {
      [Symbol.asyncDispose]: () => agents.close(),
    });
    const input = { url: 'https://agent.example', headers: { authorization: 'hidden' } };
    const change = { workspace: 'agents', actor: 'cli', name: 'theirs', input, verify: false };
    await agents.put({ ...change, create: true });
    await assert.rejects(async () => agents.put({ ...change, create: true }), isKind('conflict'));
    const found = (await open()).find('agents', 'theirs');
    assert.deepEqual(found?.settings.headers, input.headers);
    const stored = await register.read(() => ROW.get());
    assert.ok(!Buffer.from(Object(stored?.['headers']) as Uint8Array).includes('hidden'));
    await agents.remove('agents', 'cli', 'theirs');
    assert.deepEqual([...agents.list('agents')], []);
    const again = async () => agents.remove('agents', 'cli', 'theirs');
    await assert.rejects(again, isKind('notFound'));
  });
}

const ROW = statement(`SELECT headers FROM agents WHERE workspace = 'agents'`);

describe('SQLite', () => contract(async () => openRegister(undefined, silent)));

describe('PostgreSQL', () => {
  let database: TestDatabase;
  before(async () => void (database = await testDatabase()));
  contract(() => openPostgresRegister(database.url, silent));

  test('the search for cards uses its index', async () => {
    const register = await openPostgresRegister(database.url, silent, { serves: false });
    const explain = statement(`EXPLAIN SELECT row FROM cards WHERE terms @> '{a}'`);
    const plan = await register.transaction(function* () {
      // As in the search.
      yield* statement(`SELECT set_config('enable_bitmapscan', 'on', true)`).get();
      return yield* explain.all();
    });
    await register.close();
    assert.match(JSON.stringify(plan), /Bitmap Index Scan on cards_terms/);
  });

  test('a change of another process just before an own change is noticed', async () => {
    const open = () => openPostgresRegister(database.url, silent, { serves: false });
    const [one, other] = [await open(), await open()];
    let noticed = 0;
    one.onChange(() => noticed++);
    const change = (register: Register) => {
      const entry = { workspace: 'noticed', actor: 'cli', action: 'card.update', subject: 'x' };
      return register.change(() => createAudit({ register }).record(entry));
    };
    await change(one);
    assert.equal(noticed, 0);
    await change(other);
    await change(one);
    assert.equal(noticed, 1);
    await Promise.all([one.close(), other.close()]);
  });

  test('a register that cannot get a new page is not ready', async () => {
    const register = await openPostgresRegister(database.url, silent, { serves: false });
    await register.check();
    await database.query(`
      CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
      END $$;
      CREATE TRIGGER full_disk BEFORE INSERT ON parley.probe FOR EACH STATEMENT EXECUTE FUNCTION full_disk()`);
    await assert.rejects(async () => register.check(), /No space left/);
    await database.query('DROP TRIGGER full_disk ON parley.probe');
    await register.check();
    await register.close();
  });
  after(() => database.drop());
});
