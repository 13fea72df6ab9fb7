/**
 * Explains why a quoted passage is not in a text, and finds the most similar place. This helps a model to correct the
 * quote.
 */
import { trimEndOf } from '../../base/index.ts';

/** Limits of the search and of the text that is shown. Without them, the search could take longer than the edit. */
const MAX_LINES = 20_000;
const MAX_PLACES_PER_LINE = 200;
const MAX_WANTED_LINES = 1000;
const MAX_COMPARED = 200;
const SHOWN_LINES = 8;
const SHOWN_CHARS = 200;
const CHARS_BEFORE = 40;
/** Minimum similarity of the line that is shown, from 0 (different) to 1 (equal). */
const MIN_SIMILARITY = 0.5;

/** Returns one or more sentences that explain what is wrong with the quote. These sentences call the quote "old". */
export function explainMissing(text: string, passage: string): string {
  const all = text.split('\n');
  const lines = all.slice(0, MAX_LINES);
  const wanted = trimEndOf(passage.replace(/^\n+/, ''), '\n').split('\n');
  if (wanted.every((line) => line.trim() === '')) {
    return '"old" contains only white space.';
  }
  if (wanted.every((line) => line.trim() === '' || /^\s*\d+\t/.test(line))) {
    return 'The lines of "old" start with numbers: remove the line numbers and tabs that read_file adds.';
  }
  const start = bestStart(lines, wanted) ?? mostSimilar(lines, wanted);
  if (start === undefined) {
    return all.length > MAX_LINES
      ? `The first ${MAX_LINES} lines have no similar passage: read the file again.`
      : 'The file has no similar passage: read it again.';
  }

  const found = wanted.map((_, at) => all[start + at]);
  const bare = (line: string | undefined): string => (line ?? '').replaceAll(/\s+/g, ' ').trim();
  const place = `line ${start + 1}`;
  if (found.every((line, at) => bare(line) === bare(wanted[at]))) {
    const at = found.findIndex((line, index) => line !== wanted[index]);
    if (at === -1)
      return `It matches at ${place}, except for blank lines around it.\n${show(found, start)}`;
    const [is, has] = quotes(found[at], wanted[at]);
    return `It matches at ${place}, except for white space: line ${start + at + 1} is ${is}, "old" has ${has}.`;
  }
  const at = found.findIndex((line, index) => bare(line) !== bare(wanted[index]));
  const [is, has] = quotes(found[at], wanted[at]);
  const difference =
    found[at] === undefined
      ? `the file ends before ${has}`
      : `line ${start + at + 1} is ${is}, "old" has ${has}`;
  return `The most similar passage is at ${place}; ${difference}.\n${show(found, start)}`;
}

/**
 * Finds the place at which the most lines of the passage match. A long line counts more than a short one. Returns the
 * index of the line at which the passage would then start, or undefined if too few lines match.
 */
function bestStart(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [at, line] of lines.entries()) {
    const key = line.trim();
    if (key === '') continue;
    const known = places.get(key);
    if (known === undefined) places.set(key, [at]);
    else if (known.length < MAX_PLACES_PER_LINE) known.push(at);
  }
  const votes = new Map<number, number>();
  for (const [at, line] of wanted.slice(0, MAX_WANTED_LINES).entries()) {
    for (const place of places.get(line.trim()) ?? []) {
      // Short lines such as brackets are common, so they have less weight.
      const weight = Math.min(line.trim().length, 20);
      if (place >= at) votes.set(place - at, (votes.get(place - at) ?? 0) + weight);
    }
  }
  let best: number | undefined;
  for (const [start, count] of votes) {
    if (count >= 4 && count > (best === undefined ? 0 : (votes.get(best) ?? 0))) best = start;
  }
  return best;
}

/**
 * Finds the line that is most similar to the longest line of the passage. Returns the index of the line at which the
 * passage would then start, or undefined if no line is similar enough.
 */
function mostSimilar(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const longest = wanted.reduce(
    (best, line, at) => (line.trim().length > (wanted[best] ?? '').trim().length ? at : best),
    0,
  );
  const pairs = pairsOf(wanted[longest] ?? '');
  let best: { readonly at: number; readonly similarity: number } | undefined;
  for (const [at, line] of lines.entries()) {
    const others = pairsOf(line);
    let common = 0;
    for (const pair of others) if (pairs.has(pair)) common += 1;
    const similarity = (2 * common) / (pairs.size + others.size || 1);
    if (similarity >= MIN_SIMILARITY && similarity > (best?.similarity ?? 0))
      best = { at, similarity };
  }
  return best === undefined ? undefined : Math.max(0, best.at - longest);
}

function pairsOf(line: string): Set<string> {
  const text = line.trim().slice(0, MAX_COMPARED);
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < text.length; at += 1) pairs.add(text.slice(at, at + 2));
  return pairs;
}

function show(found: readonly (string | undefined)[], start: number): string {
  const lines = found.filter((line) => line !== undefined);
  const shown = lines
    .slice(0, SHOWN_LINES)
    .map((line, at) => `${start + at + 1}\t${line.slice(0, SHOWN_CHARS)}`);
  if (lines.length > SHOWN_LINES) shown.push('…');
  return shown.join('\n');
}

/**
 * Quotes two lines that differ, so that tabs and spaces are visible. If the start of the lines is equal and too long to
 * be shown, the quotes start shortly before the first difference.
 */
function quotes(one = '', other = ''): [string, string] {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const from = same < SHOWN_CHARS ? 0 : same - CHARS_BEFORE;
  const quote = (line: string) =>
    (from > 0 ? '…' : '') + JSON.stringify(line.slice(from, from + SHOWN_CHARS));
  return [quote(one), quote(other)];
}
