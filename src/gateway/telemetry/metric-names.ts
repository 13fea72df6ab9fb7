/**
 * The metrics at `/metrics`. They cover the whole process, so labels must not reveal data of a workspace, such as the
 * names of its agents and model cards. Provider names are allowed, because they come from the operator. The metrics of
 * the process (base/metrics) and of the store (store/postgres/store-metrics.ts) are added to these.
 */
import { type MetricFamilies, SERVER_METRICS } from '../../base/metrics/index.ts';
import { STORE_METRICS } from '../../store/index.ts';

/** Bucket bounds in seconds, for HTTP requests (QUICK), and for calls to models and agents (SLOW). */
const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const SLOW = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];

type MetricFamily = MetricFamilies[string];

/** Returns a function that describes a metric of the given type. */
const metricOf =
  (type: MetricFamily['type'], buckets?: readonly number[]) =>
  (help: string, labels: readonly string[]): MetricFamily => ({
    type,
    help,
    labels,
    ...(buckets && { buckets }),
  });
const counter = metricOf('counter');
const gauge = metricOf('gauge');
const quickHistogram = metricOf('histogram', QUICK);
const slowHistogram = metricOf('histogram', SLOW);

export const METRICS = {
  parley_http_requests_total: counter(
    'HTTP requests with a response. A stream is counted when it opens.',
    ['verb', 'route', 'status'],
  ),
  parley_http_request_duration_seconds: quickHistogram(
    'Time from the request to the response, or to the start of the stream.',
    ['verb', 'route'],
  ),
  parley_tasks_total: counter(
    'Tasks that entered a state. The label door is the endpoint that received the task: "gateway" for the endpoint of the gateway, "agent" for /agents/NAME.',
    ['door', 'state'],
  ),
  parley_tasks_expired_total: counter(
    'Tasks that were ended or deleted because of their age. The outcome is "ended" (an unfinished task expired), "deleted" (an expired task was deleted) or "old" (the retention deleted the task).',
    ['outcome'],
  ),
  parley_model_calls_total: counter(
    'Calls to a provider. The outcome is "ok", "canceled" or an error code.',
    ['provider', 'operation', 'outcome'],
  ),
  parley_model_call_duration_seconds: slowHistogram(
    'Time from the call to a provider to the end of its answer.',
    ['provider', 'operation'],
  ),
  parley_model_first_piece_seconds: slowHistogram(
    'Time from the call to a provider to the first chunk of its answer.',
    ['provider'],
  ),
  parley_model_tokens_total: counter('Tokens used. The direction is "input" or "output".', [
    'provider',
    'direction',
  ]),
  parley_model_cost_total: counter('Cost of model calls, according to the prices of the models.', [
    'provider',
    'currency',
  ]),
  parley_model_retries_total: counter('Retries with the same provider.', ['provider']),
  parley_model_failovers_total: counter(
    'Failovers to another provider. The label is the provider that failed.',
    ['provider'],
  ),
  parley_model_circuit_open: gauge(
    '1 while a circuit breaker of a provider is open, for at least one model and workspace, otherwise 0.',
    ['provider'],
  ),
  parley_agent_calls_total: counter(
    'Calls to agents. The outcome is "ok", "canceled" or an error code.',
    ['outcome'],
  ),
  parley_agent_call_duration_seconds: slowHistogram(
    'Time from the call to an agent to its first response.',
    [],
  ),
  parley_agents: gauge('Agents behind the gateway, by health.', ['health']),
  parley_refused_total: counter(
    'Refused requests. The reason is "unauthenticated" (401), "forbidden" (403), or "limited" (429: a rate limit, a budget or another limit).',
    ['reason'],
  ),
  parley_spans_total: counter(
    'Spans. The outcome is "exported", "rejected" (by the collector) or "dropped" (by the gateway).',
    ['outcome'],
  ),
  ...SERVER_METRICS,
  ...STORE_METRICS,
};

export type MetricName = keyof typeof METRICS;
