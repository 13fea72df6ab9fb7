/** Spans of a server: a part of `parley-a2a/server`. */
export {
  openTelemetryTracer,
  type Attributes,
  type Span,
  type SpanOptions,
  type Tracer,
} from './base/tracing/index.ts';
