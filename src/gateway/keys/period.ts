/** The periods of budgets. Days and months are those of UTC. */
import type { Budget } from './schema.ts';

export interface Period {
  readonly name: string;
  /** Days, as text in order of time: from the first, included, to the last, excluded. */
  readonly from: string;
  readonly to: string;
  /** When the next one begins; a budget in total has none. */
  readonly endsAt?: number;
}

const DAY_MS = 86_400_000;

/** `2026-11-15`. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

export function periodAt(kind: Budget['period'], time: number): Period {
  const day = dayOf(time);
  if (kind === 'total') return { name: kind, from: '', to: '~' };
  const date = new Date(time);
  const endsAt =
    kind === 'day'
      ? Date.parse(day) + DAY_MS
      : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  const from = kind === 'day' ? day : day.slice(0, 7);
  return { name: from, from, to: dayOf(endsAt), endsAt };
}
