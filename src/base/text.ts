/** Helpers that shorten a text, and that find the intended name for a misspelled word. */

/** Returns the first `limit` characters. Never splits a surrogate pair. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit);
}

/** Returns the text. If it is longer than `limit`, returns its first `limit` characters and an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${cutText(text, limit)}…` : text;
}

/**
 * Returns the Levenshtein distance of two words: the number of letters that must be added, removed or replaced to turn
 * one word into the other.
 */
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
 * Returns the names that may be meant by a misspelled word. The most similar name comes first.
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
