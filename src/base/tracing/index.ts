export { GEN_AI, GEN_AI_OPERATIONS } from './gen-ai.ts';
export { openTelemetryTracer } from './open-telemetry.ts';
export type { Attributes, Span, SpanOptions, Tracer } from './span.ts';
export { parseTraceparent } from './trace-context.ts';
