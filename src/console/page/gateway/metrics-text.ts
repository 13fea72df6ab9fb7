/** Reads the text of `/metrics`, in the format of Prometheus. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function readMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', quoted = '']) => [
      label,
      quoted.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char)),
    ]);
    const labelled: Record<string, string> = Object.fromEntries(pairs);
    return [{ name, labels: labelled, value: value === '+Inf' ? Infinity : Number(value) }];
  });
}

/** Returns the sum of the samples with this name that pass the test. */
export function sumSamples(
  samples: readonly Sample[],
  name: string,
  passes: (labels: Sample['labels']) => boolean = () => true,
): number {
  return samples.reduce(
    (sum, each) => (each.name === name && passes(each.labels) ? sum + each.value : sum),
    0,
  );
}

/** Returns the different values of a label in the samples with this name, sorted. */
export function valuesOfLabel(samples: readonly Sample[], name: string, label: string): string[] {
  const found = samples.flatMap((each) =>
    each.name === name && each.labels[label] !== undefined ? [each.labels[label]] : [],
  );
  return [...new Set(found)].toSorted();
}

/**
 * Returns an estimate of a quantile of a histogram, in seconds, as Prometheus computes it: the values in a bucket are
 * assumed to be spread evenly. If the quantile is above the last finite bound, returns that bound. Returns undefined if
 * the histogram is empty.
 */
export function quantile(
  samples: readonly Sample[],
  name: string,
  part: number,
  passes: (labels: Sample['labels']) => boolean = () => true,
): number | undefined {
  const counts = new Map<number, number>();
  for (const each of samples) {
    if (each.name !== `${name}_bucket` || !passes(each.labels)) continue;
    const bound = each.labels['le'] === '+Inf' ? Infinity : Number(each.labels['le']);
    counts.set(bound, (counts.get(bound) ?? 0) + each.value);
  }
  const buckets = [...counts].toSorted(([one], [other]) => one - other);
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  const rank = part * total;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of buckets) {
    if (count >= rank) {
      if (bound === Infinity) return lower;
      return count === below ? bound : lower + ((bound - lower) * (rank - below)) / (count - below);
    }
    lower = bound;
    below = count;
  }
  return lower;
}
