/**
 * Creates a slug from a name, for example `gpt-4.1-mini` from `GPT-4.1 mini`. Accents are removed. The slug is empty if
 * the name has neither letters from A to Z nor digits from 0 to 9.
 */
import { trimEndOf } from '../../base/index.ts';
import { MAX_SLUG_CHARS } from './schema.ts';

export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .slice(0, MAX_SLUG_CHARS)
    .replace(/^[.-]+/, '');
  return trimEndOf(slug, '.-');
}
