/** The metrics of every process. */
export const PROCESS_METRICS = {
  parley_build_info: {
    type: 'gauge',
    help: 'Always 1. The labels contain the versions.',
    labels: ['version', 'node'],
  },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time, user and system.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory.' },
  process_start_time_seconds: { type: 'gauge', help: 'Start time of the process, as Unix time.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Used JavaScript heap.' },
  nodejs_eventloop_lag_mean_seconds: {
    type: 'gauge',
    help: 'Mean event loop delay since the last scrape.',
  },
  nodejs_eventloop_lag_p99_seconds: {
    type: 'gauge',
    help: '99th percentile of the event loop delay since the last scrape.',
  },
} as const;

export type ProcessMetricName = keyof typeof PROCESS_METRICS;

/** The metrics of every A2A server. */
export const SERVER_METRICS = {
  parley_executions_running: { type: 'gauge', help: 'Executions in progress.' },
  parley_streams_open: { type: 'gauge', help: 'Open streams.' },
} as const;
