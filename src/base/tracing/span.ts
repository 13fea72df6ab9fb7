/** The interface for spans. It is independent of the exporter. */

/** Starts spans, according to OpenTelemetry's conventions for generative AI. */
export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
}

/** The options of a span. */
export interface SpanOptions {
  readonly kind?: 'server' | 'client' | 'internal';
  /** The W3C `traceparent` of the parent span. */
  readonly parent?: string | undefined;
  readonly attributes?: Attributes;
}

/** The attributes of a span. They never contain the content of messages. */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** A span that has started. */
export interface Span {
  /** The `traceparent` header for calls within the span, or undefined if the span belongs to no trace. */
  readonly traceparent: string | undefined;
  set(attributes: Attributes): void;
  /**
   * Marks the span as failed. `errorType` is a short code such as `timeout`. It is never a message, because messages
   * may contain secrets.
   */
  fail(errorType: string): void;
  /** Ends the span. Only the first call has an effect. */
  end(): void;
  /** Calls `work` while this span is active. Spans that are started during the call become children of this span. */
  run?<T>(work: () => T): T;
  /** Whether another part of the process adds `traceparent` to `fetch` requests. If so, Parley must not add it too. */
  addsHeader?(): boolean;
}
