import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createMetrics, type Metrics } from './metrics.ts';

const METRICS = {
  parley_http_requests_total: {
    type: 'counter',
    help: 'HTTP requests with a response. A stream is counted when it opens.',
    labels: ['verb', 'route', 'status'],
  },
  parley_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time.',
    labels: ['verb', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  parley_executions_running: { type: 'gauge', help: 'Executions in progress.' },
  parley_streams_open: { type: 'gauge', help: 'Open streams.' },
  parley_refused_total: { type: 'counter', help: 'Refused requests.', labels: ['reason'] },
  parley_model_cost_total: { type: 'counter', help: 'Cost.', labels: ['provider', 'currency'] },
} as const;
type Name = keyof typeof METRICS;

function metricsOf(t: TestContext): Metrics<Name> {
  const metrics = createMetrics(METRICS, { version: '1.2.3' });
  t.after(() => metrics.close());
  return metrics;
}

function linesOf(metrics: Metrics<Name>, name: string): string[] {
  return metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(name) || line.includes(` ${name} `));
}

test('a counter has its help, its type and a line for each set of labels', (t) => {
  const metrics = metricsOf(t);
  metrics.count('parley_http_requests_total', { verb: 'GET', route: '/healthz', status: '200' });
  metrics.count('parley_http_requests_total', { status: '200', route: '/healthz', verb: 'GET' }, 2);
  metrics.count('parley_http_requests_total', { verb: 'POST', route: '/', status: '401' });
  assert.deepEqual(linesOf(metrics, 'parley_http_requests_total'), [
    '# HELP parley_http_requests_total HTTP requests with a response. A stream is counted when it opens.',
    '# TYPE parley_http_requests_total counter',
    'parley_http_requests_total{verb="GET",route="/healthz",status="200"} 3',
    'parley_http_requests_total{verb="POST",route="/",status="401"} 1',
  ]);
});

test('a histogram sums its buckets up, to infinity', (t) => {
  const metrics = metricsOf(t);
  for (const seconds of [0.002, 0.3, 0.3, 1000]) {
    metrics.observe('parley_http_request_duration_seconds', { verb: 'GET', route: '/' }, seconds);
  }
  const lines = linesOf(metrics, 'parley_http_request_duration_seconds');
  const at = (le: string) => lines.find((line) => line.includes(`le="${le}"`))?.split(' ')[1];
  assert.deepEqual(['0.001', '0.0025', '0.25', '0.5', '60', '+Inf'].map(at), [
    '0',
    '1',
    '1',
    '3',
    '3',
    '4',
  ]);
  assert.equal(
    lines.at(-2),
    'parley_http_request_duration_seconds_sum{verb="GET",route="/"} 1000.602',
  );
  assert.equal(lines.at(-1), 'parley_http_request_duration_seconds_count{verb="GET",route="/"} 4');
});

test('a gauge is read when somebody looks, and one that throws leaves the rest alone', (t) => {
  const metrics = metricsOf(t);
  let running = 1;
  metrics.gauge('parley_executions_running', () => running);
  metrics.gauge('parley_streams_open', () => {
    throw new Error('gone');
  });
  running = 7;
  assert.match(metrics.text(), /^parley_executions_running 7$/m);
  assert.doesNotMatch(metrics.text(), /parley_streams_open/);
});

test('a label may hold quotes, backslashes and line ends', (t) => {
  const metrics = metricsOf(t);
  metrics.count('parley_refused_total', { reason: 'a"b\\c\nd' });
  assert.match(metrics.text(), /^parley_refused_total\{reason="a\\"b\\\\c\\nd"\} 1$/m);
});

test('series without end are counted together as other', (t) => {
  const metrics = metricsOf(t);
  for (let at = 0; at < 1500; at += 1) {
    metrics.count('parley_refused_total', { reason: `r${at}` });
  }
  const lines = linesOf(metrics, 'parley_refused_total');
  assert.equal(lines.length, 2 + 1000 + 1);
  assert.equal(lines.at(-1), 'parley_refused_total{reason="other"} 500');
});

test('a counter does not go down, and what is no number does not count', (t) => {
  const metrics = metricsOf(t);
  metrics.count('parley_model_cost_total', { provider: 'p', currency: 'USD' }, 0.25);
  metrics.count('parley_model_cost_total', { provider: 'p', currency: 'USD' }, -1);
  metrics.count('parley_model_cost_total', { provider: 'p', currency: 'USD' }, Number.NaN);
  assert.match(metrics.text(), /^parley_model_cost_total\{.*\} 0\.25$/m);
});

test('the process and the build are in it', (t) => {
  const text = metricsOf(t).text();
  assert.match(text, /^parley_build_info\{version="1\.2\.3",node="\d+\.\d+\.\d+"\} 1$/m);
  assert.match(
    text,
    /^# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total [\d.]+$/m,
  );
  for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds']) {
    assert.match(text, new RegExp(`^${name} [\\d.e-]+$`, 'm'));
  }
});
