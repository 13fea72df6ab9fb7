/** The interfaces for telemetry: a meter for metrics, and a tracer for spans. */
import type { MetricRecorder } from '../../base/metrics/index.ts';
import type { MetricName } from './metric-names.ts';

export type { Labels } from '../../base/metrics/index.ts';

/** Records counts and durations for `/metrics`. The names of the metrics are in metric-names.ts. */
export type Meter = MetricRecorder<MetricName>;

/**
 * Starts spans, according to OpenTelemetry's conventions for generative AI. Does nothing if no exporter is configured.
 */
export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
}

export interface SpanOptions {
  readonly kind?: 'server' | 'client' | 'internal';
  /** The W3C `traceparent` of the parent span. */
  readonly parent?: string | undefined;
  readonly attributes?: Attributes;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface Span {
  /** The `traceparent` header for calls within the span, or undefined if tracing is off. */
  readonly traceparent: string | undefined;
  set(attributes: Attributes): void;
  /**
   * Marks the span as failed. `errorType` is a short code such as `timeout`. It is never a message, because messages
   * may contain secrets.
   */
  fail(errorType: string): void;
  /** Ends the span. Only the first call has an effect. */
  end(): void;
}
