import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantile, readMetrics, sumSamples, valuesOfLabel } from './metrics-text.ts';

const TEXT = `# HELP parley_calls_total Calls.
# TYPE parley_calls_total counter
parley_calls_total{provider="a\\"b",outcome="ok"} 3
parley_calls_total{provider="c",outcome="timeout"} 2
parley_up 1
seconds_bucket{route="x",le="0.1"} 50
seconds_bucket{route="x",le="1"} 90
seconds_bucket{route="x",le="+Inf"} 100
seconds_sum{route="x"} 40
seconds_count{route="x"} 100
`;

test('the text of /metrics is read, with quoted labels and without comments', () => {
  const samples = readMetrics(TEXT);
  assert.equal(samples.length, 8);
  assert.deepEqual(valuesOfLabel(samples, 'parley_calls_total', 'provider'), ['a"b', 'c']);
  assert.equal(sumSamples(samples, 'parley_calls_total'), 5);
  assert.equal(
    sumSamples(samples, 'parley_calls_total', ({ outcome }) => outcome === 'ok'),
    3,
  );
});

test('a quantile lies in its bucket, as Prometheus computes it', () => {
  const samples = readMetrics(TEXT);
  assert.equal(quantile(samples, 'seconds', 0.25), 0.05);
  assert.equal(quantile(samples, 'seconds', 0.7), 0.1 + 0.9 * 0.5);
  // Above the last bound, nothing more is known.
  assert.equal(quantile(samples, 'seconds', 0.95), 1);
  assert.equal(quantile(samples, 'none', 0.5), undefined);
});
