/**
 * Long pastes. The text field shows a long paste as a label, for example `[Pasted 200 lines]`. In the edited text, one
 * character from a private range stands for the paste. So the cursor moves over the whole paste, and Backspace deletes
 * the whole paste. The prompt is sent with the pasted text.
 */
import { MAX_TEXT } from './buffer.ts';

/**
 * The pasted texts. The character that stands for a paste is its mark: the first character of the private range for
 * index 0, the second for index 1, and so on.
 */
export type Pastes = readonly string[];

export const NO_PASTES: Pastes = [];

const FIRST = 0xf0000;
const MARKS = /[\u{f0000}-\u{f003f}]/gu;
const MAX_PASTES = 64;
/** Maximum length of all pastes in one prompt. */
const MAX_PASTED = 10 * MAX_TEXT;
/** A paste that has more lines or more characters than these limits is shown as a label. */
const MAX_SHOWN_LINES = 8;
const MAX_SHOWN_CHARS = 2000;

export function isLongPaste(text: string): boolean {
  return text.length > MAX_SHOWN_CHARS || lineCount(text) > MAX_SHOWN_LINES;
}

/**
 * Adds a paste. Returns the pastes and the mark to insert, or undefined if the pastes would be too many or too long.
 */
export function withPaste(
  pastes: Pastes,
  text: string,
): { readonly pastes: Pastes; readonly mark: string } | undefined {
  const length = pastes.reduce((sum, each) => sum + each.length, text.length);
  if (pastes.length >= MAX_PASTES || length > MAX_PASTED) return undefined;
  const mark = String.fromCodePoint(FIRST + pastes.length);
  return { pastes: [...pastes, text.toWellFormed()], mark };
}

/** Returns the text with each mark replaced by the pasted text. */
export function expandPastes(text: string, pastes: Pastes): string {
  return text.replaceAll(MARKS, (mark) => pastes[(mark.codePointAt(0) ?? 0) - FIRST] ?? '');
}

/** Removes characters that would be taken for the mark of a paste. */
export function withoutMarks(text: string): string {
  return text.replaceAll(MARKS, '');
}

/** Returns the label that is shown for a character of the text, or undefined if it is not the mark of a paste. */
export function pasteLabel(character: string, pastes: Pastes): string | undefined {
  const text = pastes[(character.codePointAt(0) ?? 0) - FIRST];
  if (text === undefined) return undefined;
  const lines = lineCount(text);
  return lines > 1 ? `[Pasted ${lines} lines]` : `[Pasted ${text.length} characters]`;
}

function lineCount(text: string): number {
  return text.replace(/\n$/, '').split('\n').length;
}
