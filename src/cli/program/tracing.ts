/** Spans of `parley serve`, which OpenTelemetry's environment variables turn on. */
import type { Environment } from './flags.ts';
import type { ServerLog } from './log.ts';
import { VERSION } from './product.ts';

/** Help for the variables. */
export const TRACING_VARIABLES = {
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'The collector for spans, for example http://localhost:4318. If neither this variable nor OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, no spans are sent.',
} as const;

/** Returns the tracer, or undefined if tracing is off. The exporter is loaded only if it is used. */
export async function serverTracer(environment: Environment, logger: Pick<ServerLog, 'warn'>) {
  if (!Object.keys(environment).some((name) => name.startsWith('OTEL_'))) return undefined;
  const { createTracer, tracingOptions } = await import('../../base/tracing/export/index.ts');
  const options = tracingOptions({}, environment);
  return options && createTracer(options, { logger, service: 'parley', version: VERSION });
}
