/**
 * Replaces a passage of a text. The passage is compared without regard to how lines end, and what is put in its place
 * gets the line ends that were there: models write LF, files have what they have.
 */
import { toCrlf, toLf } from './text.ts';

export interface Match {
  /** Where it begins and ends in the text. */
  readonly from: number;
  readonly to: number;
  /** Of its first line, from 1. */
  readonly line: number;
}

/** Every place of `passage` (not empty), none overlapping another. */
export function findPassage(text: string, passage: string): Match[] {
  const plain = toLf(text);
  const wanted = toLf(passage);
  // Where the CRs were, as places in `plain`; before the n-th of them, n are missing.
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
    // A match that begins with the LF of a CRLF takes the CR with it.
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
  let result = '';
  let done = 0;
  for (const { from, to } of matches) {
    result += text.slice(done, from) + withEndsOf(text, from, replacement);
    done = to;
  }
  return result + text.slice(done);
}

/** The replacement, its lines ending as the line does in which the passage begins. */
function withEndsOf(text: string, from: number, replacement: string): string {
  const next = text.indexOf('\n', from);
  const end = next === -1 ? text.lastIndexOf('\n', from) : next;
  return end > 0 && text[end - 1] === '\r' ? toCrlf(replacement) : toLf(replacement);
}
