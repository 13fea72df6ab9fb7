/**
 * Exports spans in batches to a collector, as OTLP over HTTP with JSON. If the queue is full, new spans are dropped,
 * because tracing must never slow down requests. If the collector is busy (429, 502, 503, 504) or unreachable, a batch
 * is retried a few times, and then dropped. If the collector responds with another error, the batch is dropped at once.
 */
import { boundedFetch } from '../../bounded-fetch.ts';
import { rootCause, systemCode } from '../../errors.ts';
import { retryAfterMs } from '../../retry-after.ts';
import { backoffMs, rest } from '../../wait.ts';
import type { Attributes } from '../span.ts';
import type { TraceContext } from '../trace-context.ts';

const MAX_QUEUE = 2048;
const BATCH = 512;
/** Maximum time that a span waits for more spans in its batch. */
const LINGER_MS = 2000;
const TIMEOUT_MS = 10_000;
const MAX_TRIES = 4;
const MAX_WAIT_MS = 30_000;
/** Maximum time that `close` waits. */
const CLOSE_MS = 3000;
/** Maximum number of bytes that are read from a response of the collector. */
const MAX_RESPONSE_BYTES = 64 * 1024;
const RETRYABLE = new Set([429, 502, 503, 504]);
/** The values of SpanKind in OTLP. */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

export interface EndedSpan {
  readonly name: string;
  readonly context: TraceContext;
  readonly parentSpanId: string | undefined;
  readonly kind: keyof typeof KINDS;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Attributes;
  readonly failed: boolean;
}

/** Receives a warning when spans cannot be exported. */
export interface TraceLog {
  warn(fields: object, message: string): void;
}

/** Counts the spans that were exported, rejected and dropped. */
export interface SpanMeter {
  count(name: 'parley_spans_total', labels: { readonly outcome: string }, by: number): void;
}

export interface ExporterOptions {
  /** The full address, for example `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The resource attributes, such as `service.name`. */
  readonly resource: Attributes;
  readonly version: string;
  readonly logger: TraceLog;
  readonly meter?: SpanMeter | undefined;
  readonly lingerMs?: number;
  /**
   * The maximum delay before the first retry, in milliseconds. It doubles with each further retry. A delay that the
   * collector asks for (Retry-After) takes precedence. Default: 500.
   */
  readonly retryMs?: number;
}

export interface Exporter {
  add(span: EndedSpan): void;
  /** Sends the remaining spans. Waits only for a limited time. */
  close(): Promise<void>;
}

export function createExporter(options: ExporterOptions): Exporter {
  const { logger, meter, lingerMs = LINGER_MS, retryMs = 500 } = options;
  const queue: EndedSpan[] = [];
  const ended = new AbortController();
  const resource = { attributes: attributesOf(options.resource) };
  const fetch = boundedFetch(MAX_RESPONSE_BYTES);
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let closed = false;
  let complained = false;

  const count = (outcome: string, by: number) =>
    meter?.count('parley_spans_total', { outcome }, by);

  function send(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    return (sending ??= drain().finally(() => {
      sending = undefined;
      // Send the spans that were added after `drain` had found the queue empty.
      if (queue.length > 0 && !closed) schedule();
    }));
  }

  function schedule(): void {
    timer ??= setTimeout(() => void send(), queue.length >= BATCH ? 0 : lingerMs).unref();
  }

  async function drain(): Promise<void> {
    while (queue.length > 0 && !ended.signal.aborted) {
      const batch = queue.splice(0, BATCH);
      const problem = await deliver(batch);
      if (problem === undefined) {
        complained = false;
        continue;
      }
      count('dropped', batch.length);
      // The problem is logged once per outage, not for every batch.
      if (!complained) logger.warn({ problem, spans: batch.length }, 'failed to export spans');
      complained = true;
    }
  }

  function bodyOf(batch: readonly EndedSpan[]): string {
    const scope = { name: 'parley', version: options.version };
    const scopeSpans = [{ scope, spans: batch.map(spanJson) }];
    return JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] });
  }

  /** Sends a batch. Returns undefined if it was accepted, otherwise the problem. */
  async function deliver(batch: readonly EndedSpan[]): Promise<string | undefined> {
    let body: string;
    try {
      body = bodyOf(batch);
    } catch {
      // An agent written in JavaScript may report, for example, a token count that is null.
      return 'a span has an attribute of the wrong type';
    }
    for (let tries = 1; ; tries += 1) {
      const result = await post(body, batch.length);
      if (result === 'accepted') return undefined;
      if (!result.again || tries >= MAX_TRIES || ended.signal.aborted) return result.problem;
      const wait = result.afterMs ?? backoffMs(tries, retryMs, MAX_WAIT_MS);
      await rest(Math.min(wait, MAX_WAIT_MS), ended.signal);
    }
  }

  async function post(
    body: string,
    spans: number,
  ): Promise<'accepted' | { problem: string; again: boolean; afterMs?: number }> {
    try {
      const answer = await fetch(options.url, {
        method: 'POST',
        headers: { ...options.headers, 'content-type': 'application/json' },
        body,
        signal: AbortSignal.any([ended.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      if (answer.ok) {
        // The status says that the collector has received the spans. So they are not sent again, even if the body
        // cannot be read.
        const text = await answer.text().catch(() => '');
        const rejected = Math.min(rejectedOf(text), spans);
        if (rejected > 0) count('rejected', rejected);
        count('exported', spans - rejected);
        return 'accepted';
      }
      answer.body?.cancel().catch(() => undefined);
      const afterMs = retryAfterMs(answer.headers.get('retry-after'));
      return {
        problem: `the collector responded with status ${answer.status}`,
        again: RETRYABLE.has(answer.status),
        ...(afterMs !== undefined && { afterMs }),
      };
    } catch (error) {
      const code = systemCode(rootCause(error));
      const why = code === undefined ? '' : ` (${code})`;
      return { problem: `the collector is unreachable${why}`, again: true };
    }
  }

  return {
    add(span) {
      if (closed || queue.length >= MAX_QUEUE) {
        count('dropped', 1);
        return;
      }
      queue.push(span);
      if (queue.length === BATCH) {
        clearTimeout(timer);
        timer = undefined;
      }
      if (!sending) schedule();
    },
    async close() {
      closed = true;
      const limit = setTimeout(() => ended.abort(), CLOSE_MS);
      // If a `drain` is active, the first `send` only waits for it. The second `send` sends the spans that were added
      // after this `drain` had found the queue empty.
      await send();
      await send();
      clearTimeout(limit);
      if (queue.length > 0) count('dropped', queue.splice(0).length);
    },
  };
}

/** Returns the number of spans that the collector reports as rejected. */
function rejectedOf(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return rejected > 0 ? Math.trunc(rejected) : 0;
  } catch {
    return 0;
  }
}

function spanJson(span: EndedSpan): object {
  return {
    traceId: span.context.traceId,
    spanId: span.context.spanId,
    ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: String(span.startNs),
    endTimeUnixNano: String(span.endNs),
    attributes: attributesOf(span.attributes),
    status: span.failed ? { code: STATUS_ERROR } : {},
  };
}

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

/** Converts a value to OTLP's JSON, in which a 64-bit integer is a string. */
function valueOf(value: Attributes[string]): object {
  switch (typeof value) {
    case 'string':
      return { stringValue: value };
    case 'boolean':
      return { boolValue: value };
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
    default:
      return { arrayValue: { values: value.map((each) => ({ stringValue: each })) } };
  }
}
