import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UsageItem } from './api.ts';
import { daysBetween, MAX_SERIES, measuresOf, seriesOf, sumsOf, totalOf } from './usage-data.ts';

const row = (model: string, day: string, calls: number, amount?: number): UsageItem => ({
  model,
  day,
  calls,
  failures: 0,
  inputTokens: calls * 10,
  outputTokens: calls,
  ...(amount !== undefined && { cost: { amount, currency: 'EUR' } }),
});

test('the series of the chart add up to the rows, with a place for each day', () => {
  const rows = [
    row('a', '2026-01-01', 1, 0.5),
    row('a', '2026-01-03', 2),
    row('b', '2026-01-03', 5),
  ];
  const days = daysBetween('2026-01-01', '2026-01-03');
  assert.deepEqual(days, ['2026-01-01', '2026-01-02', '2026-01-03']);
  assert.deepEqual(seriesOf(rows, days, 'model', 'calls'), [
    { name: 'b', values: [0, 0, 5] },
    { name: 'a', values: [1, 0, 2] },
  ]);
  assert.deepEqual(measuresOf(rows), ['cost EUR', 'tokens', 'calls', 'failures']);
  assert.equal(totalOf(rows).cost.get('EUR'), 0.5);
  assert.deepEqual(
    sumsOf(rows, 'model').map(({ name, calls, inputTokens }) => [name, calls, inputTokens]),
    [
      ['a', 3, 30],
      ['b', 5, 50],
    ],
  );
});

test('many small series are one, so that no colour is used twice', () => {
  const rows = Array.from({ length: 20 }, (_, at) => row(`m${at}`, '2026-01-01', 100 - at));
  const series = seriesOf(rows, ['2026-01-01'], 'model', 'calls');
  assert.equal(series.length, MAX_SERIES + 1);
  assert.equal(series.at(-1)?.name, `${20 - MAX_SERIES} others`);
  const sum = series.reduce((all, { values }) => all + (values[0] ?? 0), 0);
  assert.equal(sum, totalOf(rows).calls);
});

test('two keys with the same name are two rows and two series', () => {
  const of = (keyId: string, keyName: string): UsageItem => ({
    ...row('m', '2026-01-01', 1),
    keyId,
    keyName,
  });
  const rows = [of('id-11111111', 'ci'), of('id-22222222', 'ci'), of('id-33333333', 'web')];
  const names = ['ci (…11111111)', 'ci (…22222222)', 'web'];
  assert.deepEqual(
    sumsOf(rows, 'key').map(({ name }) => name),
    names,
  );
  const series = seriesOf(rows, ['2026-01-01'], 'key', 'calls');
  assert.deepEqual(series.map(({ name }) => name).toSorted(), names);
});
