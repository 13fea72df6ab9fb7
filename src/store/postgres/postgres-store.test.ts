import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import {
  agentSays,
  alice,
  artifact,
  creation,
  statusEvent,
  update,
  userSays,
  webhook,
} from '../../../test/contract/task-store/events.ts';
import { startBadNetwork } from '../../../test/support/bad-network.ts';
import { testDatabase } from '../../../test/support/postgres.ts';
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts';
import { StoreError } from '../../base/index.ts';
import { createHandler } from '../../tasks/index.ts';
import { postgresStore } from './postgres-store.ts';

const database = await testDatabase();
const store = await postgresStore(database.url, { secretKey: 'a'.repeat(43) });
const logger = { debug() {}, info() {}, warn() {}, error() {} };
const other = await postgresStore(database.url, { migrate: false, logger });
test.after(async () => {
  await store.close();
  await other.close();
  await database.drop();
});

/** Number of events in the log of a test with a bad network. */
const LENGTH = 20;

const isUnavailable = (error: unknown) =>
  error instanceof StoreError && error.code === 'unavailable';

test('appends whose answers are lost are stored exactly once', async (t) => {
  const network = await startBadNetwork(t, () => Number(new URL(database.url).port));
  const url = new URL(database.url);
  url.port = new URL(network.url).port;
  const far = await postgresStore(url.href, { poolSize: 1, retryMs: 60_000 });
  t.after(() => far.close());
  await far.append([creation('lost')]);
  // A login needs about 400 bytes of answers.
  let budget = 400;
  network.allow(() => (budget = budget > 2000 ? 600 : budget + 87));
  for (let seq = 1; seq < LENGTH; seq++) {
    const batch = [
      { ...update('lost', seq, 'working', agentSays(`step ${seq}`)), messageIds: [`lost ${seq}`] },
      { ...creation(`lost ${seq}`), messageIds: [`other ${seq}`] },
    ];
    assert.deepEqual(await far.append(batch), ['ok', 'ok']);
  }
  assert.ok(network.cuts() > 5, `only ${network.cuts()} connections were cut`);
  const log = await store.read('lost', 0, 1000);
  assert.deepEqual(
    log.map(({ seq }) => seq),
    Array.from({ length: LENGTH }, (_, at) => at + 1),
  );
  network.allow(() => Infinity);
  // The first call may get a connection that was just cut.
  await far.probe().catch(() => far.probe());
  const late = LENGTH - 1;
  assert.deepEqual(await far.append([update('lost', late, 'working', agentSays(`step ${late}`))]), [
    'conflict',
  ]);
});

test('while the database cannot be reached, nothing is acknowledged; afterwards all works again', async (t) => {
  const network = await startBadNetwork(t, () => Number(new URL(database.url).port));
  const url = new URL(database.url);
  url.port = new URL(network.url).port;
  const far = await postgresStore(url.href, { poolSize: 2, retryMs: 100 });
  t.after(() => far.close());
  network.allow(() => 0);
  await assert.rejects(far.append([creation('away')]), isUnavailable);
  await assert.rejects(far.probe(), isUnavailable);
  await assert.rejects(far.head(alice, 'away'), isUnavailable);
  network.allow(() => Infinity);
  await far.probe();
  assert.equal(await far.head(alice, 'away'), undefined);
  assert.deepEqual(await far.append([creation('away')]), ['ok']);
});

test('an append waits for a database that comes back in time', async (t) => {
  const network = await startBadNetwork(t, () => Number(new URL(database.url).port));
  const url = new URL(database.url);
  url.port = new URL(network.url).port;
  const far = await postgresStore(url.href, { poolSize: 1, retryMs: 60_000 });
  t.after(() => far.close());
  let attempts = 0;
  network.allow(() => (++attempts <= 3 ? 0 : Infinity));
  assert.deepEqual(await far.append([creation('back')]), ['ok']);
  assert.ok(attempts > 3);
});

test('of two processes that append at the same place, one succeeds', async () => {
  await store.append([creation('race')]);
  for (let seq = 1; seq <= 20; seq++) {
    const outcomes = await Promise.all(
      [store, other].map((each) => each.append([update('race', seq, 'working')])),
    );
    assert.deepEqual(outcomes.flat().toSorted(), ['conflict', 'ok']);
  }
  assert.equal((await store.head(alice, 'race'))?.seq, 21);
});

test('a message that two processes receive at the same time creates one task', async () => {
  for (let at = 0; at < 20; at++) {
    const outcomes = await Promise.all(
      [store, other].map((each, n) =>
        each.append([
          { ...creation(`twin ${at} ${n}`), messageIds: [`twin ${at}`] },
          { ...creation(`single ${at} ${n}`), messageIds: [`single ${at} ${n}`] },
        ]),
      ),
    );
    assert.deepEqual(outcomes.map(([first]) => String(first)).toSorted(), ['conflict', 'ok']);
    assert.deepEqual(
      outcomes.map(([, second]) => second),
      ['ok', 'ok'],
    );
  }
});

test('a text is sent to the database as it is', async (t) => {
  let sent = 0;
  const port = Number(new URL(database.url).port);
  const requests = () =>
    new PassThrough().on('data', (bytes: Buffer) => void (sent += bytes.length));
  const proxy = await startTcpProxy(() => [port], { requests });
  t.after(() => proxy.close());
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const far = await postgresStore(url.href, { poolSize: 1, logger });
  t.after(() => far.close());
  const append = update('quotes', 1, 'working', agentSays('"\\'.repeat(200_000)));
  await far.append([creation('quotes')]);
  sent = 0;
  assert.deepEqual(await far.append([append]), ['ok']);
  const json = JSON.stringify(append.entries[0]?.event).length;
  assert.ok(sent > json && sent < 1.1 * json, `${sent} bytes were sent for ${json}`);
  const [entry] = await store.read('quotes', 1, 1);
  assert.deepEqual(entry?.event, append.entries[0]?.event);
});

test('a node of an earlier version appends to the same tasks', async () => {
  const says = (seq: number) => agentSays(`step ${seq} "\\`);
  const json = (seq: number) => JSON.stringify(statusEvent('mixed', 'c1', 'working', says(seq)));
  await store.append([creation('mixed')]);
  const [row] = await database.query(`SELECT scope FROM parley.tasks WHERE task_id = 'mixed'`);
  const earlier = async (expected: number) => {
    const logs = [[json(expected + 1), json(expected + 2)].join('\n')];
    const [found] = await database.query(
      `SELECT parley.append_1(NULL, '{mixed}', ARRAY[$1::bigint], '{c1}', ARRAY[$2::integer], '{2}', '{NULL}', $3, '{NULL}',
         '{working}', ARRAY[$2 + 2], '{NULL}', '{NULL}', '{100}', '{NULL}', '{NULL}', '{0}') AS outcomes`,
      [row?.['scope'], expected, logs],
    );
    return found?.['outcomes'];
  };
  for (let seq = 1; seq < 10; seq += 3) {
    assert.deepEqual(await store.append([update('mixed', seq, 'working', says(seq + 1))]), ['ok']);
    assert.equal(await earlier(seq + 1), '1');
    assert.equal(await earlier(seq + 1), '0');
  }
  const log = await store.read('mixed', 1, 100);
  assert.deepEqual(
    log.map((entry) => entry.json),
    Array.from({ length: 9 }, (_, at) => json(at + 2)),
  );
});

test('batches that lock the same tasks in another order are all stored', async () => {
  const names = ['d1', 'd2', 'd3', 'd4'];
  await store.append(names.map((name) => creation(name)));
  for (let seq = 1; seq <= 10; seq++) {
    const batch = names.map((name) => update(name, seq, 'working'));
    const [a, b] = await Promise.all([store.append(batch), other.append(batch.toReversed())]);
    for (const [at, outcome] of a.entries()) {
      assert.deepEqual([outcome, String(b.at(-at - 1))].toSorted(), ['conflict', 'ok']);
    }
  }
});

test('an append with another epoch is a conflict', async () => {
  await store.append([{ ...creation('owned'), epoch: 1 }]);
  assert.equal((await store.head(alice, 'owned'))?.epoch, 1);
  await database.query(`UPDATE parley.tasks SET epoch = 2, node = 'n2' WHERE task_id = 'owned'`);
  const head = await store.head(alice, 'owned');
  assert.deepEqual([head?.epoch, head?.node], [2, 'n2']);
  const working = update('owned', 1, 'working');
  assert.deepEqual(await store.append([{ ...working, epoch: 1 }]), ['conflict']);
  assert.deepEqual(await store.append([{ ...working, epoch: 2 }]), ['ok']);
});

test('ids that PostgreSQL cannot store as text are different tasks', async () => {
  const scope = { tenant: 'x\0', owner: 'o'.repeat(10_000) };
  const names = ['\0', '\ud800', '\ud801', '\ufffd', '\uffff', 'a\uffff\uffff', '\n', '\\'];
  for (const name of names) {
    const append = { ...creation(name, scope, `c${name}`), messageIds: [name, `2${name}`] };
    assert.deepEqual(await store.append([append]), ['ok'], JSON.stringify(name));
  }
  for (const name of names) {
    const head = await store.head(scope, name);
    assert.deepEqual([head?.taskId, head?.contextId], [name, `c${name}`]);
    for (const id of [name, `2${name}`]) assert.equal(await store.findMessage(scope, id), name);
  }
  const { heads } = await store.list({ ...scope, limit: 100 });
  assert.deepEqual(heads.map(({ taskId }) => taskId).toSorted(), names.toSorted());
  assert.ok(
    (await store.unfinished()).some(
      ({ owner, taskId }) => taskId === '\0' && owner === scope.owner,
    ),
  );
});

test('a finished task that continues while it is deleted is either gone or continued', async () => {
  for (let at = 0; at < 20; at++) {
    const name = `again ${at}`;
    await store.append([creation(name), update(name, 1, 'completed')]);
    const [[outcome], isDeleted] = await Promise.all([
      other.append([update(name, 2, 'working', userSays('and now?'))]),
      store.delete(alice, name, 2),
    ]);
    assert.equal(isDeleted, outcome === 'conflict');
    assert.equal((await store.head(alice, name))?.status.state, isDeleted ? undefined : 'working');
  }
});

test('a task that is deleted while events are appended leaves nothing behind', async () => {
  for (let at = 0; at < 10; at++) {
    await store.append([creation('gone')]);
    const appends = Promise.all([
      other.append([{ ...artifact('gone', 1), messageIds: ['gone 1'] }]),
      other.savePush(webhook('gone', 'w')).catch(() => {}),
    ]);
    await store.delete(alice, 'gone');
    await appends;
  }
  for (const table of ['events', 'messages', 'push']) {
    const orphans = await database.query(
      `SELECT FROM parley.${table} WHERE task NOT IN (SELECT id FROM parley.tasks)`,
    );
    assert.deepEqual(orphans, [], table);
  }
});

test('a webhook whose task continues while its progress is saved stays due', async () => {
  await store.append([creation('hook'), update('hook', 1, 'input-required')]);
  await store.savePush(webhook('hook', 'w'));
  for (let seq = 2; seq < 15; seq++) {
    await Promise.all([
      store.append([update('hook', seq, 'input-required')]),
      other.savePushProgress([
        { taskId: 'hook', configId: 'w', progress: { cursor: seq, attempts: 0 } },
      ]),
    ]);
    const [row] = await database.query(
      'SELECT p.due_at FROM parley.push p JOIN parley.tasks t ON t.id = p.task WHERE t.task_id = $1',
      ['hook'],
    );
    assert.equal(Number(row?.['due_at'] ?? NaN), 0, `after event ${seq + 1}`);
  }
});

test('only the node that has claimed a webhook changes its progress and its dead letters', async (t) => {
  const member = {
    changed() {},
    pushChanged() {},
    answer: async () => '',
    orphaned() {},
    expelled() {},
  };
  const joined = async () => {
    const node = await postgresStore(database.url, { migrate: false, logger });
    t.after(async () => {
      await node.cluster.leave();
      await node.close();
    });
    await node.cluster.join(member);
    return node;
  };
  const earlier = await joined();
  const current = await joined();
  await store.append([creation('claimed'), update('claimed', 1, 'input-required')]);
  await store.savePush(webhook('claimed', 'w'));
  const key = { taskId: 'claimed', configId: 'w' };
  assert.ok(await current.cluster.claimPush(key));
  const giveUp = (seq: number) => ({
    ...key,
    progress: { cursor: seq, attempts: 0, dueAt: 0 },
    deadLetter: { ...key, seq, reason: 'no answer', attempts: 9, at: seq },
  });
  const found = async () => {
    const letters = await store.deadLetters({ ...alice, ...key, limit: 10 });
    const [hook] = await store.listPush('claimed');
    return { cursor: hook?.progress.cursor, letters: letters.map(({ seq }) => seq) };
  };
  await earlier.savePushProgress([giveUp(1)]);
  assert.deepEqual(await found(), { cursor: 0, letters: [] });
  await current.savePushProgress([giveUp(2)]);
  assert.deepEqual(await found(), { cursor: 2, letters: [2] });
});

test('a webhook that a node claimed under its previous id is not its own', async (t) => {
  const node = await postgresStore(database.url, { migrate: false, logger });
  t.after(() => node.close());
  await store.append([creation('renamed')]);
  await store.savePush(webhook('renamed', 'w'));
  const key = { taskId: 'renamed', configId: 'w' };
  const claiming = node.cluster.claimPush(key);
  node.database.members.id = 'another';
  assert.equal(await claiming, false);
  assert.equal(await node.cluster.claimPush(key), true);
});

test('webhooks are encrypted; without a key, one with a token is refused', async () => {
  await store.append([creation('secret')]);
  const record = webhook('secret', 'w');
  const config = { ...record.config, token: 'very-secret' };
  await store.savePush({ ...record, config });
  assert.deepEqual((await store.listPush('secret'))[0]?.config, config);
  const rows = await database.query('SELECT config FROM parley.push');
  assert.ok(rows.every((row) => !String(row['config']).includes('very-secret')));
  await assert.rejects(other.savePush({ ...record, config }), /no key to store secrets/);
  await other.savePush({ ...record, config: { ...record.config, id: 'plain' } });
  assert.equal((await store.listPush('secret')).length, 2);
});

test('tasks are not removed because of their size, unless the operator has set a size', async () => {
  const handler = createHandler({ async *execute() {} }, { store: other, logger });
  await store.append([creation('old'), update('old', 1, 'completed')]);
  assert.equal((await handler.expire({ retention: {} })).old, 0);
  assert.equal(store.retention.maxBytes, Infinity);
});

test('the check of readiness needs new pages, as a new event does, and leaves nothing behind', async () => {
  const size = async () => {
    const [row] = await database.query(
      `SELECT pg_relation_size('parley.probe')::int AS bytes, (SELECT count(*)::int FROM parley.probe) AS rows`,
    );
    return Object(row) as { bytes: number; rows: number };
  };
  const before = await size();
  await Promise.all([store.probe(), store.probe()]);
  const after = await size();
  assert.ok(after.bytes >= before.bytes + 64_000, JSON.stringify([before, after]));
  assert.equal(after.rows, 0);
});

test('the check of readiness fails if no page can be added to a table', async () => {
  await database.query(`
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
    END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON parley.probe FOR EACH STATEMENT EXECUTE FUNCTION full_disk()`);
  await assert.rejects(store.probe(), /No space left/);
  await database.query('DROP TRIGGER full_disk ON parley.probe');
  await store.probe();
});

test('the counters are right after all of this', async () => {
  const counted = await database.query(
    'SELECT scope, state, sum(n)::int AS n FROM parley.counters GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2',
  );
  const real = await database.query(
    'SELECT scope, state, count(*)::int AS n FROM parley.tasks GROUP BY 1, 2 ORDER BY 1, 2',
  );
  assert.deepEqual(counted, real);
});
