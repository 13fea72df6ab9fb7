/** `/metrics` of `parley serve`, in Prometheus's text format. */
import { createMetrics, METRICS_CONTENT_TYPE, SERVER_METRICS } from '../../base/metrics/index.ts';
import { NO_STORE } from '../../http/index.ts';
import type { AgentServer, ServeOptions } from '../../server.ts';
import { STORE_METRICS, watchStore } from '../../store/index.ts';
import type { TaskStore } from '../../tasks/index.ts';
import { VERSION } from './product.ts';

export function serverMetrics(store: TaskStore) {
  const metrics = createMetrics({ ...SERVER_METRICS, ...STORE_METRICS }, { version: VERSION });
  watchStore(metrics, store);
  /** The route. It needs the same authentication as the agent. */
  const route: NonNullable<ServeOptions['routes']>[number] = {
    verb: 'GET',
    path: '/metrics',
    handle: async () => ({
      headers: { ...NO_STORE, 'content-type': METRICS_CONTENT_TYPE },
      text: metrics.text(),
    }),
  };
  return {
    route,
    /** Adds the metrics of the server. */
    watch(server: Pick<AgentServer, 'handler' | 'streams'>): void {
      metrics.gauge('parley_executions_running', () => server.handler.running);
      metrics.gauge('parley_streams_open', () => server.streams);
    },
    close: () => metrics.close(),
  };
}
