/**
 * Metrics in Prometheus's text format 0.0.4. The program defines its metrics in a table. The metrics that every process
 * has (process-metrics.ts) are added to this table.
 *
 * Counters and histograms are updated by events. Gauges are read at each scrape. Each metric has a limited number of
 * series, so that callers cannot exhaust the memory. Further series of a counter or histogram are merged into one
 * series whose labels are all `other`. Further series of a gauge are omitted.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PROCESS_METRICS, type ProcessMetricName } from './process-metrics.ts';

export interface MetricFamily {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds of a histogram's buckets, in seconds. */
  readonly buckets?: readonly number[];
}

/** Metrics by their names. */
export type MetricFamilies = Readonly<Record<string, MetricFamily>>;

export type Labels = Readonly<Record<string, string>>;

/** Records counts and durations. */
export interface MetricRecorder<Name extends string> {
  count(name: Name, labels?: Labels, by?: number): void;
  observe(name: Name, labels: Labels, seconds: number): void;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Maximum number of series of one metric. */
const MAX_SERIES = 1000;
/** Maximum length of a label value. Longer values are truncated. */
const MAX_LABEL_CHARS = 200;
const OTHER = 'other';
/** The sampling interval of the event loop delay. */
const LAG_RESOLUTION_MS = 50;

type GaugeReading = number | Iterable<readonly [labels: Labels, value: number]>;

export interface Metrics<Name extends string> extends MetricRecorder<Name> {
  /**
   * Registers a gauge, or a counter whose value is stored elsewhere. `read` is called at each scrape. If it throws, the
   * metric is omitted.
   */
  gauge(name: Name | ProcessMetricName, read: () => GaugeReading): void;
  /** Returns all metrics in Prometheus's text format. */
  text(): string;
  close(): void;
}

interface Series {
  /** The labels as text, for example `{verb="GET",route="/x"}`. The text is empty if there are no labels. */
  readonly labels: string;
  value: number;
  /** The number of observations in each bucket of a histogram, not cumulative. */
  readonly buckets?: number[];
  count: number;
}

/** A metric with its series. */
interface Family {
  readonly family: MetricFamily;
  readonly root: Branch;
  readonly series: Series[];
}

/**
 * A node of the tree in which a series is found by its label values, one label per level. A single Map would need a key
 * of all values, which would have to be joined and hashed for every request.
 */
class Branch {
  series: Series | undefined;
  readonly next = new Map<string, Branch>();
}

export function createMetrics<const Families extends MetricFamilies>(
  catalogue: Families,
  options: { readonly version: string },
): Metrics<keyof Families & string> {
  const families = new Map<string, Family>();
  for (const [name, family] of Object.entries({ ...catalogue, ...PROCESS_METRICS })) {
    families.set(name, { family, root: new Branch(), series: [] });
  }
  const readers = new Map<string, () => GaugeReading>();
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();

  function familyOf(name: string): Family {
    const family = families.get(name);
    if (!family) throw new Error(`unknown metric ${name}`);
    return family;
  }

  function seriesOf(known: Family, labels: Labels): Series {
    const { family, root, series: all } = known;
    let branch: Branch | undefined = root;
    for (const name of family.labels ?? []) branch = branch?.next.get(limited(labels[name]));
    if (branch?.series) return branch.series;
    if (all.length < MAX_SERIES) return add(known, labels);
    return add(known, Object.fromEntries((family.labels ?? []).map((label) => [label, OTHER])));
  }

  /** Returns the series with these labels. Adds it if it does not exist. */
  function add({ family, root, series: all }: Family, labels: Labels): Series {
    let branch = root;
    for (const name of family.labels ?? []) {
      const value = limited(labels[name]);
      const next = branch.next.get(value) ?? new Branch();
      branch.next.set(value, next);
      branch = next;
    }
    if (branch.series) return branch.series;
    const buckets = family.buckets && [...family.buckets.map(() => 0), 0];
    const text = labelsText(family, labels);
    const series: Series = { labels: text, value: 0, count: 0, ...(buckets && { buckets }) };
    all.push(series);
    branch.series = series;
    return series;
  }

  const metrics: Metrics<keyof Families & string> = {
    count(name, labels = {}, by = 1) {
      // A counter never decreases, so a negative amount is ignored.
      if (!(by >= 0) || !Number.isFinite(by)) return;
      const series = seriesOf(familyOf(name), labels);
      if (!series.buckets) series.value += by;
    },
    observe(name, labels, seconds) {
      const known = familyOf(name);
      const series = seriesOf(known, labels);
      if (!series.buckets || !Number.isFinite(seconds)) return;
      const { buckets: bounds = [] } = known.family;
      let at = 0;
      while (at < bounds.length && seconds > bounds[at]!) at++;
      series.buckets[at]! += 1;
      series.count += 1;
      series.value += seconds;
    },
    gauge(name, read) {
      readers.set(name, read);
    },
    text() {
      const lines: string[] = [];
      for (const [name, { family, series }] of families) {
        const samples = [...samplesOf(name, family, series)];
        if (samples.length === 0) continue;
        lines.push(`# HELP ${name} ${escapeHelp(family.help)}`, `# TYPE ${name} ${family.type}`);
        for (const sample of samples) lines.push(sample);
      }
      lag.reset();
      return `${lines.join('\n')}\n`;
    },
    close() {
      lag.disable();
    },
  };

  function* samplesOf(
    name: string,
    family: MetricFamily,
    all: Iterable<Series>,
  ): Generator<string> {
    const read = readers.get(name);
    if (read) yield* readingOf(name, family, read);
    for (const series of all) {
      if (series.buckets) yield* histogramOf(name, family, series);
      else yield `${name}${series.labels} ${numberText(series.value)}`;
    }
  }

  metrics.gauge('parley_build_info', () => [
    [{ version: options.version, node: process.versions.node }, 1],
  ]);
  metrics.gauge('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics.gauge('process_resident_memory_bytes', () => process.memoryUsage.rss());
  metrics.gauge('process_start_time_seconds', () => performance.timeOrigin / 1000);
  metrics.gauge('nodejs_heap_size_used_bytes', () => process.memoryUsage().heapUsed);
  // The measured delay includes the sampling interval.
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - LAG_RESOLUTION_MS / 1000);
  metrics.gauge('nodejs_eventloop_lag_mean_seconds', () =>
    Number.isNaN(lag.mean) ? 0 : late(lag.mean),
  );
  metrics.gauge('nodejs_eventloop_lag_p99_seconds', () => late(lag.percentile(99)));
  return metrics;
}

function* readingOf(
  name: string,
  family: MetricFamily,
  read: () => GaugeReading,
): Generator<string> {
  try {
    const reading = read();
    const samples = typeof reading === 'number' ? [[{}, reading] as const] : [...reading];
    for (const [labels, value] of samples.slice(0, MAX_SERIES)) {
      yield `${name}${labelsText(family, labels)} ${numberText(value)}`;
    }
  } catch {
    // A gauge that throws is omitted from this scrape.
  }
}

function* histogramOf(name: string, family: MetricFamily, series: Series): Generator<string> {
  let sum = 0;
  for (const [at, count] of (series.buckets ?? []).entries()) {
    sum += count;
    const bound = family.buckets?.[at];
    const le = `le="${bound === undefined ? '+Inf' : bound}"`;
    const labels = series.labels === '' ? `{${le}}` : `${series.labels.slice(0, -1)},${le}}`;
    yield `${name}_bucket${labels} ${sum}`;
  }
  yield `${name}_sum${series.labels} ${numberText(series.value)}`;
  yield `${name}_count${series.labels} ${series.count}`;
}

/** Returns the labels as text, in the order of the metric's definition. A missing label is empty. */
function labelsText(family: MetricFamily, labels: Labels): string {
  const names = family.labels ?? [];
  if (names.length === 0) return '';
  return `{${names.map((name) => `${name}="${escapeLabel(labels[name] ?? '')}"`).join(',')}}`;
}

function limited(value = ''): string {
  return value.length > MAX_LABEL_CHARS ? value.slice(0, MAX_LABEL_CHARS) : value;
}

function escapeLabel(value: string): string {
  return escapeHelp(limited(value)).replaceAll('"', '\\"');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
