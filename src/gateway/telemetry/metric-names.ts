/**
 * What `/metrics` says, by name. Numbers are of the whole process, so no label holds what belongs to a workspace: names
 * of its agents and cards are its own, those of providers are the operator's.
 */
export interface MetricFamily {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds of a histogram's buckets, in seconds. */
  readonly buckets?: readonly number[];
}

/** From what a look at the register takes to what a model thinks about. */
const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const SLOW = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];

export const METRICS = {
  parley_http_requests_total: {
    type: 'counter',
    help: 'Requests that were answered. A stream counts when it opens.',
    labels: ['verb', 'route', 'status'],
  },
  parley_http_request_duration_seconds: {
    type: 'histogram',
    help: 'From the request to its answer; of a stream, to its opening.',
    labels: ['verb', 'route'],
    buckets: QUICK,
  },
  parley_tasks_total: {
    type: 'counter',
    help: 'Tasks that came to a state. The door is "gateway" or "agent".',
    labels: ['door', 'state'],
  },
  parley_tasks_expired_total: {
    type: 'counter',
    help: 'Tasks whose time was over: ended, or deleted.',
    labels: ['outcome'],
  },
  parley_executions_running: { type: 'gauge', help: 'Executions that run now.' },
  parley_streams_open: { type: 'gauge', help: 'Streams that are open now.' },
  parley_model_calls_total: {
    type: 'counter',
    help: 'Calls of a provider. The outcome is "ok" or what went wrong.',
    labels: ['provider', 'operation', 'outcome'],
  },
  parley_model_call_duration_seconds: {
    type: 'histogram',
    help: 'From the call of a provider to the end of its answer.',
    labels: ['provider', 'operation'],
    buckets: SLOW,
  },
  parley_model_first_piece_seconds: {
    type: 'histogram',
    help: 'From the call of a provider to the first piece of its answer.',
    labels: ['provider'],
    buckets: SLOW,
  },
  parley_model_tokens_total: {
    type: 'counter',
    help: 'Tokens; the direction is "input" or "output".',
    labels: ['provider', 'direction'],
  },
  parley_model_cost_total: {
    type: 'counter',
    help: 'What models cost by the prices of their cards.',
    labels: ['provider', 'currency'],
  },
  parley_model_retries_total: {
    type: 'counter',
    help: 'Calls that were tried again at the same provider.',
    labels: ['provider'],
  },
  parley_model_failovers_total: {
    type: 'counter',
    help: 'Calls that went on to another provider; the label is the one that failed.',
    labels: ['provider'],
  },
  parley_model_circuit_open: {
    type: 'gauge',
    help: '1 while a provider is left alone because it fails, else 0.',
    labels: ['provider'],
  },
  parley_agent_calls_total: {
    type: 'counter',
    help: 'Calls of the agents behind the gateway. The outcome is "ok" or what went wrong.',
    labels: ['outcome'],
  },
  parley_agent_call_duration_seconds: {
    type: 'histogram',
    help: 'From the call of an agent to its first answer.',
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
    help: 'Requests that were refused: "unauthenticated", "forbidden", or "limited" by rate or budget.',
    labels: ['reason'],
  },
  parley_spans_total: {
    type: 'counter',
    help: 'Spans: "exported", "rejected" by the collector, or "dropped" here.',
    labels: ['outcome'],
  },
  parley_build_info: {
    type: 'gauge',
    help: '1; the labels say what runs here.',
    labels: ['version', 'node'],
  },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time, user and system.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.' },
  process_start_time_seconds: { type: 'gauge', help: 'When the process began, as Unix time.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'What is in use of the heap of JavaScript.' },
  nodejs_eventloop_lag_mean_seconds: {
    type: 'gauge',
    help: 'How late the event loop was on average since the last scrape.',
  },
  nodejs_eventloop_lag_p99_seconds: {
    type: 'gauge',
    help: 'How late the event loop was in the worst hundredth since the last scrape.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export type MetricName = keyof typeof METRICS;
