/** What the gateway's parts know of each other. Each is made in its own folder and joined in gateway.ts. */
import type { Pricing } from '../cards/schema.ts';
import type { Caller } from '../api/caller.ts';

/** What one use of a model took. */
export interface Use {
  readonly workspace: string;
  readonly keyId?: string | undefined;
  readonly model: string;
  readonly provider: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Undefined where the card has no price. */
  readonly cost?: Money | undefined;
}

export interface Money {
  readonly amount: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** Budgets. */
export interface Spending {
  /**
   * Throws `rateLimited` with the reason BUDGET_EXHAUSTED when the key's budget is spent, without it when answers that
   * are under way need the rest, and `forbidden` when the key has a budget in money and the model no price in its
   * currency.
   */
  check(caller: Pick<Caller, 'keyId'>, pricing: Pricing | undefined): void;
  /** An answer is under way, until what is returned is called. Throws as `check` does. */
  begin(caller: Pick<Caller, 'keyId'>, pricing: Pricing | undefined): () => void;
  /** Counts it, once. Never throws: what cannot be written is logged, and counted in memory. */
  record(use: Use): void;
}

/** Numbers for `/metrics`. Names are in operation/metrics.ts. */
export interface Meter {
  count(name: string, labels?: Labels, by?: number): void;
  observe(name: string, labels: Labels, seconds: number): void;
}

export type Labels = Readonly<Record<string, string>>;

/** Spans, by OpenTelemetry's conventions for generative AI. Costs nothing where no exporter is set. */
export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
}

export interface SpanOptions {
  readonly kind?: 'server' | 'client' | 'internal';
  /** W3C trace context of what it belongs to. */
  readonly parent?: string | undefined;
  readonly attributes?: Attributes;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface Span {
  /** For the headers of what is called within it. Undefined where nothing is traced. */
  readonly traceparent: string | undefined;
  set(attributes: Attributes): void;
  /** `errorType` is a word such as `timeout`; never a message with a secret. */
  fail(errorType: string): void;
  /** Once; later calls do nothing. */
  end(): void;
}
