/** The interfaces that the gateway's parts report to: a meter for metrics, a tracer for spans. */
import type { MetricName } from './metric-names.ts';

/** Counts and durations for `/metrics`. The names are those of metric-names.ts. */
export interface Meter {
  count(name: MetricName, labels?: Labels, by?: number): void;
  observe(name: MetricName, labels: Labels, seconds: number): void;
}

export type Labels = Readonly<Record<string, string>>;

/** Starts spans, by OpenTelemetry's conventions for generative AI. Does nothing if no exporter is configured. */
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
  /** The `traceparent` header for calls that are made within the span. Undefined if nothing is traced. */
  readonly traceparent: string | undefined;
  set(attributes: Attributes): void;
  /** `errorType` is a short code such as `timeout`, never a message: messages may contain secrets. */
  fail(errorType: string): void;
  /** Only the first call has an effect. */
  end(): void;
}
