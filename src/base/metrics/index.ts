export {
  createMetrics,
  METRICS_CONTENT_TYPE,
  type Labels,
  type MetricRecorder,
  type MetricFamilies,
  type Metrics,
} from './metrics.ts';
export { SERVER_METRICS } from './process-metrics.ts';
