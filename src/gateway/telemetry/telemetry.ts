/** The interfaces for telemetry: a meter for metrics, and a tracer for spans (base/tracing). */
import type { MetricRecorder } from '../../base/metrics/index.ts';
import type { MetricName } from './metric-names.ts';

export type { Labels } from '../../base/metrics/index.ts';
export type { Attributes, Span, Tracer } from '../../base/tracing/index.ts';

/** Records counts and durations for `/metrics`. The names of the metrics are in metric-names.ts. */
export type Meter = MetricRecorder<MetricName>;
