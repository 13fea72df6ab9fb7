/** Functions that trim, shorten and quote a text, and that find the intended name for a misspelled word. */

/** Returns the first `limit` characters, or one character less if the cut would split a surrogate pair. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit);
}

/**
 * Returns the text without the characters of `chars` at its end. A pattern such as `/[.!]+$/` would take quadratic time
 * for a long run of these characters in the middle of the text.
 *
 *     trimEndOf('http://a.example//', '/') // 'http://a.example'
 */
export function trimEndOf(text: string, chars: string): string {
  let end = text.length;
  while (end > 0 && chars.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Returns the text in one line: its lines are trimmed and joined by spaces. Drops empty lines. */
export function oneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

/** Returns the text. If it is longer than `limit`, returns its first `limit` characters and an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${cutText(text, limit)}…` : text;
}

/**
 * Returns a text in single quotes, as one literal word for bash, zsh and other POSIX shells. Do not put the result
 * inside other quotes, because there it is not one literal word.
 *
 *     singleQuoted("it's") // 'it'\''s'
 */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Returns the text. If it is longer than `limit`, returns its start and its end, with a note about the omitted
 * characters between them. Start and end together have at most `limit` characters, and the end has at most `end`
 * (default: half of `limit`). The note does not count. Never splits a surrogate pair.
 */
export function elide(text: string, limit: number, end = limit / 2): string {
  if (text.length <= limit) return text;
  const head = cutText(text, Math.floor(limit - end));
  const tail = text.slice(text.length - Math.floor(end)).replace(/^[\udc00-\udfff]/, '');
  const missing = text.length - head.length - tail.length;
  return `${head}\n[… ${missing} characters left out …]\n${tail}`;
}

/**
 * Returns the Levenshtein distance of two words: the number of letters that must be added, removed or replaced to turn
 * one word into the other.
 */
function distance(from: string, to: string): number {
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

interface Similarity {
  /** Returns the part of the word or name that is compared. Default: the whole text. */
  readonly compared?: (text: string) => string;
  /** Returns the maximum distance from this name. Default: 2, or 1 if the word has fewer than four letters. */
  readonly maxDistance?: (name: string) => number;
}

/**
 * Returns the names that may be meant by a misspelled word. The most similar name comes first.
 *
 *     nearestNames('strat', ['start', 'stop']) // ['start']
 */
export function nearestNames(
  word: string,
  names: Iterable<string>,
  { compared = (text) => text, maxDistance = () => (word.length < 4 ? 1 : 2) }: Similarity = {},
): string[] {
  const sought = compared(word);
  return [...names]
    .map((name) => {
      const other = compared(name);
      // The words differ by at least this many letters. If this is too many, the slow comparison is skipped.
      const apart = Math.abs(sought.length - other.length);
      return { name, changes: apart > maxDistance(name) ? apart : distance(sought, other) };
    })
    .filter(({ name, changes }) => changes <= maxDistance(name))
    .toSorted((a, b) => a.changes - b.changes)
    .map(({ name }) => name);
}

/**
 * Splits a text before its last character. A stream can send `now` first, and hold back `held` until more text arrives
 * or the text ends. So the final chunk of the stream is never empty.
 */
export function splitLast(text: string): { readonly now: string; readonly held: string } {
  const size = (text.codePointAt(text.length - 2) ?? 0) > 0xffff ? 2 : 1;
  const at = Math.max(0, text.length - size);
  return { now: text.slice(0, at), held: text.slice(at) };
}

/**
 * Returns the same text in one piece. V8 stores a joined text as links to its parts, which takes several times the
 * memory of the characters. Use this function for short texts that are kept for a long time.
 */
export function inOnePiece(text: string): string {
  // V8 joins the parts when a character is read. The character is stored, because otherwise V8's optimizer would remove
  // the read, whose result is not used.
  lastRead[0] = text.charCodeAt(0);
  return text;
}

const lastRead = new Uint16Array(1);
