import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import { createSqliteBudgetStore } from './sqlite-store.ts';
import type { Use } from './calls.ts';
import type { UsageQuery, UsageRow } from './usage.ts';

const DAY_MS = 86_400_000;
const ALL = { from: '2020-01-01', to: '2030-01-01', limit: 1000, offset: 0 };

function setup() {
  const gateway = testGateway();
  const spending = gateway.spending();
  const key = (name: string) =>
    gateway.keys.create({ workspace: 'team', name, scopes: ['*'] }, 'test').key.id;
  const record = (use: Partial<Use>) =>
    spending.record({ workspace: 'team', inputTokens: 10, outputTokens: 5, ...use });
  const rows = async (query: Partial<UsageQuery>): Promise<readonly UsageRow[]> =>
    (await spending.usage('team', { by: [], ...ALL, ...query })).rows;
  return { ...gateway, spending, key, record, rows };
}

test('the usage of a call without a budget belongs to the day on which the call began', async () => {
  const { spending, rows, clock } = setup();
  const call = { caller: { workspace: 'team' }, model: 'm', prompt: () => 10 };
  const reservation = await spending.reserve(call);
  clock.time += DAY_MS;
  reservation.settle({ inputTokens: 10, outputTokens: 5 });
  assert.deepEqual(
    (await rows({ by: ['day'] })).map(({ day, calls }) => [day, calls]),
    [['2026-11-15', 1]],
  );
});

test('usage is summed by any dimensions, in their order, with failures and each currency', async () => {
  const { key, record, rows, clock } = setup();
  const [ann, ben] = [key('ann'), key('ben')];
  const usd = (amount: number) => ({ cost: { amount, currency: 'USD' } });
  record({ keyId: ann, model: 'large', ...usd(0.5) });
  record({ keyId: ann, model: 'small', ...usd(0.25), failed: true });
  record({ keyId: ann, model: 'euro', cost: { amount: 1, currency: 'EUR' } });
  clock.time += DAY_MS;
  record({ keyId: ben, model: 'large', ...usd(0.125) });
  record({ subject: 'joe', agent: 'travel', ...usd(2) });
  record({ workspace: 'other', keyId: 'x', model: 'large', ...usd(100) });

  const money = (all: readonly UsageRow[]) =>
    all.map(({ calls, failures, cost }) => [calls, failures, cost?.amount, cost?.currency]);
  assert.deepEqual(money(await rows({ by: [] })), [
    [1, 0, 1, 'EUR'],
    [4, 1, 2.875, 'USD'],
  ]);
  const byKey = await rows({ by: ['key'], from: '2026-11-15' });
  assert.deepEqual(
    byKey.map(({ keyId, keyName, subject, cost }) => [keyId, keyName, subject, cost?.currency]),
    [
      [undefined, undefined, 'joe', 'USD'],
      [ann, 'ann', undefined, 'EUR'],
      [ann, 'ann', undefined, 'USD'],
      [ben, 'ben', undefined, 'USD'],
    ],
  );
  const names = async (by: UsageQuery['by']) =>
    (await rows({ by })).map(({ day, model = '', agent = '' }) =>
      by.map((name) => (name === 'day' ? day : name === 'model' ? model : agent)).join(' '),
    );
  assert.deepEqual(await names(['day', 'model']), [
    '2026-11-16 ',
    '2026-11-16 large',
    '2026-11-15 euro',
    '2026-11-15 large',
    '2026-11-15 small',
  ]);
  assert.deepEqual(await names(['agent', 'day']), [
    ' 2026-11-16',
    ' 2026-11-15',
    ' 2026-11-15',
    'travel 2026-11-16',
  ]);
  assert.deepEqual(money(await rows({ by: [], filter: { key: ann, model: 'small' } })), [
    [1, 1, 0.25, 'USD'],
  ]);
  assert.deepEqual(
    (await rows({ by: ['subject'] })).map(({ subject, calls }) => [subject, calls]),
    [
      [undefined, 1],
      [undefined, 3],
      ['joe', 1],
    ],
  );
});

test('usage has pages, and the last page has no next one', async () => {
  const { spending, record } = setup();
  for (const model of ['a', 'b', 'c', 'd', 'e']) record({ model });
  const seen: (string | undefined)[][] = [];
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const query: UsageQuery = { ...ALL, by: ['model'], limit: 2, offset };
    const page = await spending.usage('team', query);
    seen.push(page.rows.map(({ model }) => model));
    offset = page.next;
  }
  assert.deepEqual(seen, [['a', 'b'], ['c', 'd'], ['e']]);
});

test('usage tells who spent something for a task or a context, for a month', async () => {
  const { spending, key, record, rows, clock } = setup();
  const ann = key('ann');
  record({ keyId: ann, model: 'large', taskId: 't1', contextId: 'c1' });
  record({ keyId: ann, model: 'large', taskId: 't1', contextId: 'c1', failed: true });
  record({ subject: 'joe', agent: 'travel', taskId: 't2', contextId: 'c1' });
  record({ keyId: ann, model: 'large' });
  const who = await rows({ by: ['key', 'model'], filter: { task: 't1' } });
  assert.partialDeepStrictEqual(who, [
    { keyId: ann, keyName: 'ann', model: 'large', calls: 2, failures: 1, inputTokens: 20 },
  ]);
  const tasks = await rows({ by: ['task'], filter: { context: 'c1' } });
  assert.deepEqual(
    tasks.map(({ taskId, calls }) => [taskId, calls]),
    [
      ['t1', 2],
      ['t2', 1],
    ],
  );
  const all = await rows({ by: ['context', 'task'] });
  assert.deepEqual(
    all.reduce((sum, { calls }) => sum + calls, 0),
    4,
  );

  clock.time += 32 * DAY_MS;
  record({ keyId: ann, model: 'large', taskId: 't3' });
  await spending.flush();
  assert.deepEqual(
    (await rows({ by: ['task'] })).map(({ taskId }) => taskId),
    ['t3'],
  );
  assert.partialDeepStrictEqual(await rows({ by: [] }), [{ calls: 5 }]);
});

test('after a slow read of usage, the next one waits, so that other work goes on', async () => {
  const { spending, record, register } = setup();
  record({ model: 'm', taskId: 't' });
  await spending.flush();
  const { db } = register;
  db.function('slowly', (model) => {
    for (const until = performance.now() + 10; performance.now() < until;);
    return model;
  });
  db.exec('ALTER TABLE task_spending RENAME TO kept');
  db.exec(
    'CREATE VIEW task_spending AS SELECT *, slowly(model) AS slow FROM kept WHERE slow = model',
  );
  const [first = 0, second = 0] = await Promise.all(
    ['team', 'other'].map(async (workspace) => {
      await spending.usage(workspace, { ...ALL, by: ['task'] });
      return performance.now();
    }),
  );
  assert.ok(second - first >= 35, `${second - first} ms`);
});

test('the counters of tasks with a limit are kept for a month after the last call', async () => {
  const { register, clock, key, ...gateway } = setup();
  const spending = gateway.spending;
  spending.use({ task: { calls: 1 }, workspaces: { '*': { tokens: 1000, period: 'total' } } });
  const caller = { workspace: 'team', keyId: key('ann') };
  const call = async (taskId: string) => {
    const planned = { caller, taskId, model: 'm', prompt: () => 1, maxOutputTokens: 1 };
    (await spending.reserve(planned)).settle({ inputTokens: 1, outputTokens: 1 });
    await spending.flush();
  };
  const holders = () =>
    register.db
      .prepare('SELECT holder FROM budget_counters ORDER BY 1')
      .all()
      .map(({ holder }) => holder);
  await call('t1');
  clock.time += 30 * DAY_MS;
  await call('t2');
  await assert.rejects(call('t1'), /all its 1 calls/);
  clock.time += 2 * DAY_MS;
  await call('t3');
  assert.deepEqual(holders(), ['task:team/t2', 'task:team/t3', 'workspace:team/']);
});

test('the rows of tasks have a maximum number in each workspace', async () => {
  const { register } = setup();
  const store = createSqliteBudgetStore(register, 1000);
  const payer = { keyId: 'k', subject: '', contextId: '' };
  const called = { day: '2026-11-15', model: 'm', agent: '', failed: false };
  const used = { inputTokens: 1, outputTokens: 1, nanos: 0, currency: '' };
  const booking = (workspace: string, taskId: string) => ({
    booking: { workspace, taskId, ...payer, ...called, ...used },
  });
  await store.settle([booking('quiet', 'first')]);
  await store.settle(Array.from({ length: 3000 }, (_, at) => booking('busy', `t${at}`)));
  const count = async (workspace: string, by: UsageQuery['by']) =>
    (await store.usage(workspace, { by, ...ALL, limit: 5000 })).rows.length;
  const kept = await count('busy', ['task']);
  assert.ok(kept >= 1000 && kept < 1256, `${kept} rows`);
  assert.equal(await count('quiet', ['task']), 1);
  assert.equal(await count('busy', ['key', 'model', 'agent', 'day']), 1);
});
