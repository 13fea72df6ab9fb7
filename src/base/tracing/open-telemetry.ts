import { hasSubscribers } from 'node:diagnostics_channel';
import type { Context, Span as ApiSpan } from '@opentelemetry/api';
import { optionalPackage } from '../optional-package.ts';
import { ERROR_TYPE } from './gen-ai.ts';
import type { Tracer } from './span.ts';
import { parseTraceparent, traceparentOf, validTraceparent } from './trace-context.ts';

const NAME = 'parley-a2a';
/**
 * OpenTelemetry's instrumentation of `fetch` subscribes to this channel, and adds `traceparent` to each request. If the
 * channel has any subscriber, Parley does not add the header to requests by `fetch`, because it cannot tell the
 * instrumentation from other subscribers. So if there are only other subscribers, these requests have no `traceparent`.
 */
const FETCH_CHANNEL = 'undici:request:create';

/**
 * Returns a tracer that uses `@opentelemetry/api`. The SDK that your process has set up exports the spans. If no SDK is
 * set up, the spans do nothing. Rejects if `@opentelemetry/api` is not installed.
 *
 *   serve(agent, { tracer: await openTelemetryTracer() });
 */
export async function openTelemetryTracer(): Promise<Tracer> {
  const { context, SpanKind, SpanStatusCode, trace } = await optionalPackage(
    '@opentelemetry/api',
    'OpenTelemetry',
    () => import('@opentelemetry/api'),
  );
  const kinds = {
    internal: SpanKind.INTERNAL,
    server: SpanKind.SERVER,
    client: SpanKind.CLIENT,
  } as const;

  /**
   * Returns the context with the parent of a new span. The active span becomes the parent in two cases: `parent` is
   * missing or invalid, or the active span is in the trace of `parent`, and so is nearer to the new span. In any other
   * case, the span that `parent` names becomes the parent. The active span is, for example, the SDK's span for the HTTP
   * request, or a span that a tool has started.
   */
  function contextOf(parent: string | undefined): Context {
    const given = parseTraceparent(parent);
    const around = context.active();
    if (given === undefined || trace.getSpanContext(around)?.traceId === given.traceId)
      return around;
    const { traceId, spanId, sampled } = given;
    const remote = { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote: true };
    return trace.setSpanContext(around, remote);
  }

  function headerOf(span: ApiSpan): string | undefined {
    const { traceId, spanId, traceFlags } = span.spanContext();
    return validTraceparent(traceparentOf({ traceId, spanId, sampled: (traceFlags & 1) === 1 }));
  }

  return {
    start(name, { kind = 'internal', parent, attributes = {} } = {}) {
      const around = contextOf(parent);
      // The tracer is looked up each time, because the SDK may be set up after this function was called.
      const span = trace
        .getTracer(NAME)
        .startSpan(name, { kind: kinds[kind], attributes: writable(attributes) }, around);
      return {
        traceparent: headerOf(span),
        set: (more) => void span.setAttributes(writable(more)),
        fail(errorType) {
          span.setAttributes({ [ERROR_TYPE]: errorType });
          span.setStatus({ code: SpanStatusCode.ERROR });
        },
        end: () => span.end(),
        addsHeader: () => hasSubscribers(FETCH_CHANNEL),
        run: (work) => context.with(trace.setSpan(around, span), work),
      };
    },
  };
}

/** Copies the arrays, because the types of the API do not accept readonly arrays. */
function writable(
  attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>,
): Record<string, string | number | boolean | string[]> {
  const copied: Record<string, string | number | boolean | string[]> = {};
  for (const [key, value] of Object.entries(attributes)) {
    copied[key] = typeof value === 'object' ? [...value] : value;
  }
  return copied;
}
