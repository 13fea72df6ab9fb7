/**
 * Measures text in terminal columns, and removes control characters.
 *
 * Text from models, tools and other clients is cleaned before it is shown. An escape sequence could overwrite a
 * question, and a bidirectional control character could disguise a command.
 */
import { reveal } from '../../base/index.ts';

const TAB = '    ';
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const WIDE =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|[^\p{ASCII}]\ufe0f)/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;
const BIDIRECTIONAL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const CONTROL = /(?!\n)\p{Cc}/gu;
/**
 * Escape sequences. No part of the pattern goes past the next ESC, so that the time is linear. The pattern of
 * `stripVTControlCharacters` takes quadratic time for a text of many unfinished sequences.
 */
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- searches for control characters
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|[ -/]+[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Splits a text into user-perceived characters. */
export function graphemes(text: string): string[] {
  if (PRINTABLE_ASCII.test(text)) return text.split('');
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

export function graphemeWidth(grapheme: string): number {
  if (PRINTABLE_ASCII.test(grapheme)) return grapheme.length;
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Returns the width of a line in columns. */
export function widthOf(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Makes untrusted text safe to show. Keeps line breaks. */
export function clean(text: string): string {
  const plain = text.replaceAll('\r\n', '\n').replaceAll(SEQUENCE, '');
  const drawn = plain.includes('\r') ? plain.split('\n').map(overwritten).join('\n') : plain;
  return drawn
    .replaceAll('\t', TAB)
    .replaceAll(CONTROL, '')
    .replaceAll(BIDIRECTIONAL, '\ufffd')
    .toWellFormed();
}

/** Makes untrusted text safe to show on one line. Collapses all white space. */
export function cleanLine(text: string): string {
  return clean(text).replaceAll(/\s+/g, ' ').trim();
}

/**
 * Makes untrusted text safe to show, with its invisible characters as symbols. Used for text that a person approves, in
 * which nothing may be hidden. Keeps line breaks.
 */
export function reveals(text: string): string {
  return reveal(text).replaceAll('\t', TAB);
}

/** Makes untrusted text safe like `reveals`, but on one line. Collapses all white space. */
export function revealsLine(text: string): string {
  return reveals(text).replaceAll(/\s+/g, ' ').trim();
}

/** Returns the part of a line that stays visible after carriage returns. Progress bars print such lines. */
function overwritten(line: string): string {
  return line.split('\r').findLast((part) => part !== '') ?? '';
}
