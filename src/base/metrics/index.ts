export * from './metrics.ts';
export { SERVER_METRICS } from './process-metrics.ts';
