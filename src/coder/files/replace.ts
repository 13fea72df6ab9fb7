/**
 * Replaces a passage of a text. The comparison ignores whether lines end with LF or CRLF, because models write LF. The
 * replacement gets the line end of the line in which the passage starts.
 */
import { toCrlf, toLf } from './text.ts';

export interface Match {
  /** The start and the end of the match in the text. */
  readonly from: number;
  readonly to: number;
  /** The number of the first line, starting from 1. */
  readonly line: number;
}

/**
 * Returns the occurrences of `passage`. After each match, the search continues at its end, so matches do not overlap.
 * `passage` must not be empty.
 */
export function findPassage(text: string, passage: string): Match[] {
  const plain = toLf(text);
  const wanted = toLf(passage);
  // For each CRLF in `text`, the position of its LF in `plain`.
  const removed: number[] = [];
  for (let at = text.indexOf('\r\n'); at !== -1; at = text.indexOf('\r\n', at + 2)) {
    removed.push(at - removed.length);
  }
  const matches: Match[] = [];
  let line = 1;
  let counted = 0;
  let passed = 0;
  for (let at = plain.indexOf(wanted); at !== -1; at = plain.indexOf(wanted, at + wanted.length)) {
    for (; counted < at; counted += 1) if (plain[counted] === '\n') line += 1;
    while ((removed[passed] ?? Infinity) < at) passed += 1;
    // A match that starts with the LF of a CRLF includes the CR.
    const from = at + passed;
    const end = at + wanted.length;
    let within = passed;
    while ((removed[within] ?? Infinity) < end) within += 1;
    matches.push({ from, to: end + within, line });
  }
  return matches;
}

export function replaceMatches(
  text: string,
  matches: readonly Match[],
  replacement: string,
): string {
  const [lf, crlf] = [toLf(replacement), toCrlf(replacement)];
  let result = '';
  let done = 0;
  // The replacement gets the line end of the line in which the passage starts. If this line has no line end, the line
  // end of the previous line is used.
  let end = -1;
  let isLast = false;
  for (const { from, to } of matches) {
    if (end < from && !isLast) {
      const next = text.indexOf('\n', from);
      isLast = next === -1;
      end = isLast ? text.lastIndexOf('\n') : next;
    }
    result += text.slice(done, from) + (end > 0 && text[end - 1] === '\r' ? crlf : lf);
    done = to;
  }
  return result + text.slice(done);
}
