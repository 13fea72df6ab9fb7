export { createTracer, tracingOptions } from './tracing.ts';
