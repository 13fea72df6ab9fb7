/** Shortening text, and finding the name that a misspelled word was meant to be. */

/** The first `limit` characters. Never cuts a surrogate pair in two. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit);
}

/** The text, or its first `limit` characters and an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${cutText(text, limit)}…` : text;
}

/** Levenshtein distance: how many letters to add, remove or replace to turn one word into the other. */
export function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/**
 * The names that a misspelled word may have meant, the most similar first.
 *
 *     nearestNames('strat', ['start', 'stop']) // ['start']
 */
export function nearestNames(
  word: string,
  names: Iterable<string>,
  maxDistance = word.length < 4 ? 1 : 2,
): string[] {
  return [...names]
    .map((name) => ({ name, changes: distance(word, name) }))
    .filter(({ changes }) => changes <= maxDistance)
    .toSorted((a, b) => a.changes - b.changes)
    .map(({ name }) => name);
}
