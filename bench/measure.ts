/** Interleaved rounds, medians and ratios. */
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

/** One line of the table. Costs are per unit: microseconds of CPU where the system counts it, else of wall time. */
export interface Row {
  readonly scenario: string;
  readonly unit: string;
  readonly values: Readonly<Record<string, number>>;
  /** What the goal is about, the number that was reached, and whether that is good enough. */
  readonly goal?: { readonly text: string; readonly reached: number; readonly most: number };
}

export interface Cost {
  readonly cpuUs: number;
  readonly wallUs: number;
}

export interface Work {
  readonly subject: Subject;
  /** Does a piece of work, and says how many units it was. */
  readonly run: () => Promise<number>;
}

/** Lets each do its work in turn, `rounds` times, after one round to get warm. The median of each counts. */
export async function compare(rounds: number, works: readonly Work[]): Promise<Map<string, Cost>> {
  const samples = new Map<string, Cost[]>();
  for (let round = 0; round <= rounds; round++) {
    // Every round begins with another one, so that none is always behind the same neighbour.
    const order = works.map((_, at) => works[(at + round) % works.length]!);
    for (const { subject, run } of order) {
      const cpuBefore = subject.cpu();
      const before = performance.now();
      const units = await run();
      const wallUs = ((performance.now() - before) * 1000) / units;
      const cpuAfter = subject.cpu();
      const known = cpuBefore !== undefined && cpuAfter !== undefined;
      const cpuUs = known ? ((cpuAfter - cpuBefore) * 1e6) / units : wallUs;
      if (round === 0) continue;
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
