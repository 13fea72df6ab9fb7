/** A text with a cursor, and the editing operations. A move of the cursor never ends inside a grapheme. */
import type { EditedText } from '../../display/index.ts';
import { graphemes, graphemeWidth, widthOf } from '../text/width.ts';
import type { KeyName, KeyPress } from './keys.ts';

/** Maximum length of the text after `insert`. The part of the input that exceeds it is dropped. */
export const MAX_TEXT = 100_000;

export type TextBuffer = EditedText;

export const BLANK: TextBuffer = { text: '', cursor: 0 };

export function withText(text: string): TextBuffer {
  return { text, cursor: text.length };
}

export function insert({ text, cursor }: TextBuffer, typed: string): TextBuffer {
  const room = Math.max(0, MAX_TEXT - text.length);
  const added = typed.slice(0, room).toWellFormed();
  return {
    text: text.slice(0, cursor) + added + text.slice(cursor),
    cursor: cursor + added.length,
  };
}

/** Replaces the text between two offsets. */
export function replace(
  { text }: TextBuffer,
  start: number,
  end: number,
  replacement: string,
): TextBuffer {
  return {
    text: text.slice(0, start) + replacement + text.slice(end),
    cursor: start + replacement.length,
  };
}

function left({ text, cursor }: TextBuffer): TextBuffer {
  const last = graphemes(text.slice(0, cursor)).at(-1) ?? '';
  return { text, cursor: cursor - last.length };
}

function right({ text, cursor }: TextBuffer): TextBuffer {
  const [first = ''] = graphemes(text.slice(cursor, cursor + 64));
  return { text, cursor: cursor + first.length };
}

function wordLeft({ text, cursor }: TextBuffer): TextBuffer {
  let start = text.slice(0, cursor).trimEnd().length;
  while (start > 0 && !/\s/.test(text.charAt(start - 1))) start -= 1;
  return { text, cursor: start };
}

function wordRight({ text, cursor }: TextBuffer): TextBuffer {
  const word = /^\s*[^\s]*/.exec(text.slice(cursor))?.[0] ?? '';
  return { text, cursor: cursor + word.length };
}

function lineStart({ text, cursor }: TextBuffer): TextBuffer {
  return { text, cursor: text.slice(0, cursor).lastIndexOf('\n') + 1 };
}

function lineEnd({ text, cursor }: TextBuffer): TextBuffer {
  const end = text.indexOf('\n', cursor);
  return { text, cursor: end < 0 ? text.length : end };
}

/** Moves to the line above, to the same column if possible. Returns undefined in the first line. */
export function up(buffer: TextBuffer): TextBuffer | undefined {
  const start = lineStart(buffer).cursor;
  if (start === 0) return undefined;
  const above = lineStart({ ...buffer, cursor: start - 1 }).cursor;
  return atColumn(buffer, above, start - 1, buffer.cursor - start);
}

/** Moves to the line below, to the same column if possible. Returns undefined in the last line. */
export function down(buffer: TextBuffer): TextBuffer | undefined {
  const end = lineEnd(buffer).cursor;
  if (end === buffer.text.length) return undefined;
  const column = buffer.cursor - lineStart(buffer).cursor;
  const last = lineEnd({ ...buffer, cursor: end + 1 }).cursor;
  return atColumn(buffer, end + 1, last, column);
}

/** Moves to a column of the line between two offsets. If the column is inside a grapheme, moves to its start. */
function atColumn({ text }: TextBuffer, start: number, end: number, column: number): TextBuffer {
  let cursor = start;
  for (const { length } of graphemes(text.slice(start, end))) {
    if (cursor + length > start + column) break;
    cursor += length;
  }
  return { text, cursor };
}

type Edit = (buffer: TextBuffer) => TextBuffer;

/** Returns the edit that deletes the text between the cursor and the position to which `move` moves the cursor. */
function erasing(move: Edit): Edit {
  return (buffer) => {
    const to = move(buffer).cursor;
    return replace(buffer, Math.min(to, buffer.cursor), Math.max(to, buffer.cursor), '');
  };
}

/** What a key does, alone and with Ctrl or Alt. */
const KEYS: Partial<Record<KeyName, readonly [alone: Edit, byWord: Edit]>> = {
  left: [left, wordLeft],
  right: [right, wordRight],
  home: [lineStart, lineStart],
  end: [lineEnd, lineEnd],
  backspace: [erasing(left), erasing(wordLeft)],
  delete: [erasing(right), erasing(wordRight)],
};
/** What a letter does with Ctrl. */
const LETTERS: Readonly<Record<string, Edit>> = {
  a: lineStart,
  e: lineEnd,
  b: left,
  f: right,
  u: erasing(lineStart),
  k: erasing(lineEnd),
  w: erasing(wordLeft),
};

/** Returns how the key changes the text or moves the cursor, or undefined if the key does neither. */
export function editing(key: KeyPress): Edit | undefined {
  if (key.name !== 'text') return KEYS[key.name]?.[key.ctrl || key.alt ? 1 : 0];
  if (key.ctrl) return LETTERS[key.text];
  if (key.alt && key.text === 'b') return wordLeft;
  return key.alt && key.text === 'f' ? wordRight : undefined;
}

/**
 * Splits the text into rows. Returns the rows and the position of the cursor. `labelOf` returns the text that is shown
 * instead of a character, or undefined if the character itself is shown.
 */
export function layout(
  { text, cursor }: TextBuffer,
  width: number,
  labelOf: (grapheme: string) => string | undefined = () => undefined,
) {
  const room = Math.max(1, width);
  const rows: string[] = [];
  let [row, column] = [0, 0];
  let current = '';
  let used = 0;
  let at = 0;
  const here = (): void => {
    if (at !== cursor) return;
    row = rows.length;
    column = used;
  };
  const next = (): void => {
    rows.push(current);
    current = '';
    used = 0;
  };
  for (const grapheme of graphemes(text)) {
    if (grapheme === '\n') {
      here();
      next();
    } else {
      const label = labelOf(grapheme);
      const takes = label === undefined ? graphemeWidth(grapheme) : widthOf(label);
      if (used + takes > room && used > 0) next();
      here();
      current += label ?? grapheme;
      used += takes;
    }
    at += grapheme.length;
  }
  // After a full row, the cursor is at the start of the next row.
  if (used >= room) next();
  here();
  rows.push(current);
  return { rows, row, column };
}
