/** Makes a slug from a name: `GPT-4.1 mini` → `gpt-4.1-mini`. Empty if the name has no Latin letter and no digit. */
import { MAX_SLUG_CHARS } from './schema.ts';

export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .slice(0, MAX_SLUG_CHARS)
    .replace(/^[.-]+|[.-]+$/g, '');
}
