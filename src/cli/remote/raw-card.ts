import { discover, type FoundCard } from '../../client/index.ts';
import type { Target } from './connection.ts';

/** Finds an agent's card. `raw` is the card as it was sent, including unknown fields. */
export async function discoverRaw(
  target: Target,
  timeoutMs?: number,
): Promise<FoundCard & { readonly raw: unknown }> {
  let raw: unknown;
  const found = await discover(target.url, {
    ...target,
    timeoutMs,
    async fetch(...request) {
      const response = await fetch(...request);
      raw = await response
        .clone()
        .json()
        .catch(() => undefined);
      return response;
    },
  });
  return { ...found, raw };
}
