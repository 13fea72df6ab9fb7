/** Measures subjects in interleaved rounds, and computes medians and percentiles. */
import { availableParallelism } from 'node:os';
import type { Subject } from './subject.ts';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** One line of the table. Costs are in microseconds of CPU time or, if the system does not count it, of wall time. */
export interface Row {
  readonly scenario: string;
  readonly unit: string;
  readonly values: Readonly<Record<string, number>>;
  /** The goal: its wording, the number that was reached, and the largest allowed number. */
  readonly goal?: { readonly text: string; readonly reached: number; readonly most: number };
}

export interface Cost {
  readonly cpuUs: number;
  readonly wallUs: number;
}

export interface Work {
  readonly subject: Pick<Subject, 'name' | 'cpu'>;
  /** Does some work and returns the number of units. */
  readonly run: () => Promise<number>;
}

/** Runs the subjects in turn, `rounds` times after the warm-up rounds, and returns the median cost of each subject. */
export async function compare(
  rounds: number,
  works: readonly Work[],
  warmUpRounds = 1,
): Promise<Map<string, Cost>> {
  const samples = new Map<string, Cost[]>();
  for (let round = -warmUpRounds; round < rounds; round++) {
    // Each round starts with another subject, so that a subject does not always run after the same other subject.
    const order = works.map((_, at) => works[(at + round + warmUpRounds) % works.length]!);
    for (const { subject, run } of order) {
      const cpuBefore = subject.cpu();
      const before = performance.now();
      const units = await run();
      const wallUs = ((performance.now() - before) * 1000) / units;
      const cpuAfter = subject.cpu();
      const known = cpuBefore !== undefined && cpuAfter !== undefined;
      const cpuUs = known ? ((cpuAfter - cpuBefore) * 1e6) / units : wallUs;
      if (round < 0) continue;
      const list = samples.get(subject.name) ?? [];
      samples.set(subject.name, [...list, { cpuUs, wallUs }]);
    }
  }
  const costs = new Map<string, Cost>();
  for (const [name, list] of samples) {
    costs.set(name, {
      cpuUs: median(list.map(({ cpuUs }) => cpuUs)),
      wallUs: median(list.map(({ wallUs }) => wallUs)),
    });
  }
  return costs;
}

export function machine(): string {
  return `${availableParallelism()} cores, Node ${process.versions.node}, ${process.platform}-${process.arch}`;
}
