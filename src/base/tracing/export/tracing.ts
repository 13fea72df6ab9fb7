/**
 * Creates spans. Without an exporter, all spans are one shared object that does nothing.
 *
 *   const tracer = createTracer(tracingOptions(config.telemetry, process.env), { logger, service, version });
 *   const span = tracer.start('chat gpt-5', { kind: 'client', parent: caller.traceparent });
 *   span.end();
 */
import { trimEndOf } from '../../text.ts';
import type { Attributes, Span, Tracer } from '../span.ts';
import { ERROR_TYPE } from '../gen-ai.ts';
import {
  createExporter,
  type Exporter,
  type ExporterOptions,
  type SpanMeter,
  type TraceLog,
} from './otlp.ts';
import { childOf, parseTraceparent, traceparentOf } from '../trace-context.ts';

/** Maximum number of attributes of a span, and maximum length of a value. */
const MAX_ATTRIBUTES = 64;
const MAX_VALUE_CHARS = 1024;

/** The `telemetry` section of the configuration. */
export interface Telemetry {
  /** The collector's address. `/v1/traces` is appended. */
  readonly endpoint?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly serviceName?: string | undefined;
}

/** The settings for the export of spans. */
export interface TracingOptions extends Pick<ExporterOptions, 'url' | 'headers' | 'resource'> {
  /** A warning about an environment variable with an unsupported value. */
  readonly remark?: string;
}

export interface ClosableTracer extends Tracer {
  /** Sends the remaining spans. Waits only for a limited time. */
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings from the configuration and from OpenTelemetry's environment variables. Returns undefined if
 * tracing is off.
 */
export function tracingOptions(
  telemetry: Telemetry = {},
  environment: Environment = {},
): TracingOptions | undefined {
  if (/^true$/i.test(environment['OTEL_SDK_DISABLED'] ?? '')) return undefined;
  if (!telemetry.endpoint && environment['OTEL_TRACES_EXPORTER'] === 'none') return undefined;
  const base = telemetry.endpoint ?? environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const whole = telemetry.endpoint
    ? undefined
    : environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || undefined;
  if (whole === undefined && !base) return undefined;
  const variable =
    environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] === undefined
      ? 'OTEL_EXPORTER_OTLP_PROTOCOL'
      : 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const protocol = environment[variable];
  return {
    url: whole ?? `${trimEndOf(base ?? '', '/')}/v1/traces`,
    headers: telemetry.headers ?? {
      ...pairs(environment['OTEL_EXPORTER_OTLP_HEADERS']),
      ...pairs(environment['OTEL_EXPORTER_OTLP_TRACES_HEADERS']),
    },
    resource: {
      ...pairs(environment['OTEL_RESOURCE_ATTRIBUTES']),
      ...((telemetry.serviceName ?? environment['OTEL_SERVICE_NAME']) && {
        'service.name': telemetry.serviceName ?? environment['OTEL_SERVICE_NAME'] ?? '',
      }),
    },
    ...(protocol &&
      protocol !== 'http/json' && {
        remark: `spans are exported as http/json: ${variable}=${protocol} is not supported`,
      }),
  };
}

/** Parses OpenTelemetry's list format, for example `a=1,b=two%20words`. */
function pairs(text = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    const key = pair.slice(0, at).trim();
    if (at < 1 || key === '') continue;
    try {
      found[key] = decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      found[key] = pair.slice(at + 1).trim();
    }
  }
  return found;
}

const NO_SPAN: Span = { traceparent: undefined, set() {}, fail() {}, end() {} };
const NO_TRACER: ClosableTracer = { start: () => NO_SPAN, close: () => Promise.resolve() };

export function createTracer(
  options: TracingOptions | undefined,
  rest: {
    readonly logger: TraceLog;
    /** The service name that is used if `options` contains none. */
    readonly service: string;
    readonly version: string;
    readonly meter?: SpanMeter;
    readonly lingerMs?: number;
    readonly retryMs?: number;
  },
): ClosableTracer {
  if (options === undefined) return NO_TRACER;
  if (options.remark !== undefined) rest.logger.warn({}, options.remark);
  const resource = {
    'service.name': rest.service,
    'service.version': rest.version,
    ...options.resource,
  };
  const exporter = createExporter({ ...options, ...rest, resource });
  return {
    start: (name, spanOptions = {}) => startSpan(exporter, name, spanOptions),
    close: () => exporter.close(),
  };
}

function startSpan(
  exporter: Exporter,
  name: string,
  options: NonNullable<Parameters<Tracer['start']>[1]>,
): Span {
  const parent = parseTraceparent(options.parent);
  const context = childOf(parent);
  const traceparent = traceparentOf(context);
  // The caller does not sample this trace, so the span is not exported. The `traceparent` of nested calls contains this
  // decision.
  if (!context.sampled) return { ...NO_SPAN, traceparent };
  const attributes: Record<string, Attributes[string]> = {};
  const startNs = now();
  let failed = false;
  let ended = false;

  function set(more: Attributes): void {
    for (const [key, value] of Object.entries(more)) {
      if (!(key in attributes) && Object.keys(attributes).length >= MAX_ATTRIBUTES) return;
      attributes[key] = typeof value === 'string' ? value.slice(0, MAX_VALUE_CHARS) : value;
    }
  }
  if (options.attributes) set(options.attributes);

  return {
    traceparent,
    set,
    fail(errorType) {
      failed = true;
      set({ [ERROR_TYPE]: errorType });
    },
    end() {
      if (ended) return;
      ended = true;
      const { kind = 'internal' } = options;
      const parentSpanId = parent?.spanId;
      exporter.add({
        name: name.slice(0, MAX_VALUE_CHARS),
        context,
        parentSpanId,
        kind,
        startNs,
        endNs: now(),
        attributes,
        failed,
      });
    },
  };
}

/** Returns the number of nanoseconds since 1970, from the monotonic clock. */
function now(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
}
