/** The value of `--retention`: how long finished tasks are kept. */
import type { Retention } from '../../tasks/index.ts';
import { usageError } from './exit.ts';
import { option } from './flags.ts';

const FORMAT = 'an age such as 30d or 12h, a size such as 2GB or 500MB, both (30d,2GB), or off';

export const RETENTION_FLAG = option(
  'R',
  'How long finished tasks are kept: an age such as 30d or 12h, a maximum size of the store such as 2GB, or both. Without an age, it is 30d. Without a size, it is 2GB, or unlimited in PostgreSQL. The oldest tasks are removed first. With off, tasks are kept for ever.',
);

const AGES: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };
const SIZES: Readonly<Record<string, number>> = { kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

/**
 * Parses the value of `--retention`. Returns undefined if the flag is not given. If only the age or only the size is
 * given, the result lacks the other one, and its default applies.
 */
export function parseRetention(text: string | undefined): Retention | undefined {
  if (text === undefined) return undefined;
  if (text === 'off') return { maxAgeMs: Infinity, maxBytes: Infinity };
  const found: { maxAgeMs?: number; maxBytes?: number } = {};
  for (const item of text.split(',')) {
    const [, digits = '', unit = ''] =
      /^(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]{1,2})$/i.exec(item.trim()) ?? [];
    const age = AGES[unit.toLowerCase()];
    const size = SIZES[unit.toLowerCase()];
    if (age !== undefined && found.maxAgeMs === undefined) found.maxAgeMs = Number(digits) * age;
    else if (size !== undefined && found.maxBytes === undefined)
      found.maxBytes = Number(digits) * size;
    else throw usageError(`--retention ${text}: use ${FORMAT}`);
  }
  return found;
}
