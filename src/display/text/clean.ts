/**
 * Makes untrusted text safe to show: text from models, tools and other clients. An escape sequence could overwrite a
 * question in a terminal, and a bidirectional control character could disguise a command on every display.
 */
import { reveal } from '../../base/index.ts';

const TAB = '    ';
const BIDIRECTIONAL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const CONTROL = /(?!\n)\p{Cc}/gu;
/**
 * Escape sequences. No part of the pattern matches beyond the next ESC, so that matching takes linear time. The pattern
 * of `stripVTControlCharacters` takes quadratic time for a text of many unfinished sequences.
 */
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- searches for control characters
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|[ -/]+[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;

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

/** Splits a line at carriage returns, which progress bars print, and returns the last part that is not empty. */
function overwritten(line: string): string {
  return line.split('\r').findLast((part) => part !== '') ?? '';
}
