export { ActiveSpan, activeSpan, inTrace } from './active-span.ts';
export * from './gen-ai.ts';
export { openTelemetryTracer } from './open-telemetry.ts';
export type { Attributes, Span, SpanOptions, Tracer } from './span.ts';
export { validTraceparent } from './trace-context.ts';
