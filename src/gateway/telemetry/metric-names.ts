/**
 * The metrics at `/metrics`. They cover the whole process, so labels must not reveal data of a workspace, such as the
 * names of its agents and model cards. Provider names are allowed, because they come from the operator. The metrics of
 * the process (base/metrics) and of the store (store/postgres/store-metrics.ts) are added to these.
 */
import { SERVER_METRICS, type MetricFamilies } from '../../base/metrics/index.ts';
import { STORE_METRICS } from '../../store/index.ts';

/** Bucket bounds in seconds, for HTTP requests (QUICK), and for calls to models and agents (SLOW). */
const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const SLOW = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];

export const METRICS = {
  parley_http_requests_total: {
    type: 'counter',
    help: 'HTTP requests with a response. A stream is counted when it opens.',
    labels: ['verb', 'route', 'status'],
  },
  parley_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Time from the request to the response, or to the start of the stream.',
    labels: ['verb', 'route'],
    buckets: QUICK,
  },
  parley_tasks_total: {
    type: 'counter',
    help: 'Tasks that entered a state. The label door is the endpoint that received the task: "gateway" for the endpoint of the gateway, "agent" for /agents/NAME.',
    labels: ['door', 'state'],
  },
  parley_tasks_expired_total: {
    type: 'counter',
    help: 'Tasks that were ended or deleted because of their age. The outcome is "ended" (an unfinished task expired), "deleted" (an expired task was deleted) or "old" (the retention deleted the task).',
    labels: ['outcome'],
  },
  parley_model_calls_total: {
    type: 'counter',
    help: 'Calls to a provider. The outcome is "ok", "canceled" or an error code.',
    labels: ['provider', 'operation', 'outcome'],
  },
  parley_model_call_duration_seconds: {
    type: 'histogram',
    help: 'Time from the call to a provider to the end of its answer.',
    labels: ['provider', 'operation'],
    buckets: SLOW,
  },
  parley_model_first_piece_seconds: {
    type: 'histogram',
    help: 'Time from the call to a provider to the first chunk of its answer.',
    labels: ['provider'],
    buckets: SLOW,
  },
  parley_model_tokens_total: {
    type: 'counter',
    help: 'Tokens used. The direction is "input" or "output".',
    labels: ['provider', 'direction'],
  },
  parley_model_cost_total: {
    type: 'counter',
    help: 'Cost of model calls, according to the prices in the model cards.',
    labels: ['provider', 'currency'],
  },
  parley_model_retries_total: {
    type: 'counter',
    help: 'Retries with the same provider.',
    labels: ['provider'],
  },
  parley_model_failovers_total: {
    type: 'counter',
    help: 'Failovers to another provider. The label is the provider that failed.',
    labels: ['provider'],
  },
  parley_model_circuit_open: {
    type: 'gauge',
    help: '1 while a circuit breaker of a provider is open, for at least one model and workspace, otherwise 0.',
    labels: ['provider'],
  },
  parley_agent_calls_total: {
    type: 'counter',
    help: 'Calls to agents. The outcome is "ok", "canceled" or an error code.',
    labels: ['outcome'],
  },
  parley_agent_call_duration_seconds: {
    type: 'histogram',
    help: 'Time from the call to an agent to its first response.',
    labels: [],
    buckets: SLOW,
  },
  parley_agents: {
    type: 'gauge',
    help: 'Agents behind the gateway, by health.',
    labels: ['health'],
  },
  parley_refused_total: {
    type: 'counter',
    help: 'Refused requests. The reason is "unauthenticated" (401), "forbidden" (403), or "limited" (429: a rate limit, a budget or another limit).',
    labels: ['reason'],
  },
  parley_spans_total: {
    type: 'counter',
    help: 'Spans. The outcome is "exported", "rejected" (by the collector) or "dropped" (by the gateway).',
    labels: ['outcome'],
  },
  ...SERVER_METRICS,
  ...STORE_METRICS,
} as const satisfies MetricFamilies;

export type MetricName = keyof typeof METRICS;
