/**
 * The text field: its text, the prompt history (↑, ↓, Ctrl-R), the completions and long pastes. The functions are pure:
 * they return the state after a key. After Enter, they may also return a prompt to send.
 *
 * The text field shows a long paste as a label, for example `[Pasted 200 lines]`. In the edited text, one character
 * from a private range stands for the paste. So the cursor moves over the whole paste, and Backspace deletes the whole
 * paste. The prompt is sent with the pasted text.
 */
import {
  BLANK,
  down,
  editing,
  insert,
  MAX_TEXT,
  replace,
  up,
  withText,
  type TextBuffer,
} from './buffer.ts';
import type { Choice } from '../../display/index.ts';
import { withoutLast } from '../text/width.ts';
import { isCtrl, type KeyPress } from './keys.ts';

/**
 * The pasted texts. The character that stands for a paste is its mark: the first character of the private range for
 * index 0, the second for index 1, and so on.
 */
type Pastes = readonly string[];

const NO_PASTES: Pastes = [];

const FIRST = 0xf0000;
const MARKS = /[\u{f0000}-\u{f003f}]/gu;
const MAX_PASTES = 64;
/** Maximum length of all pastes in one prompt. */
const MAX_PASTED = 10 * MAX_TEXT;
/** A paste that has more lines or more characters than these limits is shown as a label. */
const MAX_SHOWN_LINES = 8;
const MAX_SHOWN_CHARS = 2000;

export interface Composer {
  readonly buffer: TextBuffer;
  /**
   * The long pastes that the marks in the text stand for. A paste stays here until the text is empty, even if its mark
   * was deleted.
   */
  readonly pastes: Pastes;
  /** Earlier prompts, oldest first. */
  readonly past: readonly string[];
  /**
   * The index of the earlier prompt that is shown, and the text that it replaced. Undefined while no earlier prompt is
   * shown.
   */
  readonly browsing?: { readonly at: number; readonly draft: string };
  readonly search?: {
    readonly query: string;
    /**
     * The index of the prompt that was found, -1 if there is no match, or the length of `past` if the query is empty.
     */
    readonly at: number;
    readonly draft: TextBuffer;
  };
  readonly completion?: {
    /** The offset of the text being completed. */
    readonly start: number;
    readonly choices: readonly Choice[];
    readonly selected: number;
  };
}

export interface ComposerStep {
  readonly composer: Composer;
  readonly submit?: string;
}

const MAX_PAST = 1000;

export function createComposer(past: readonly string[] = []): Composer {
  return { buffer: BLANK, pastes: NO_PASTES, past: past.slice(-MAX_PAST) };
}

/** Sets the text, and ends browsing, search and completion. */
export function edited({ past, pastes }: Composer, buffer: TextBuffer): Composer {
  return { buffer, past, pastes: buffer.text === '' ? NO_PASTES : pastes };
}

export function withCompletion(
  composer: Composer,
  start: number,
  choices: readonly Choice[],
): Composer {
  const { completion: _, ...rest } = composer;
  return choices.length === 0 ? rest : { ...rest, completion: { start, choices, selected: 0 } };
}

export function typed(composer: Composer, text: string): Composer {
  return edited(composer, insert(composer.buffer, withoutMarks(text)));
}

/** Inserts a pasted text. Returns undefined if the pasted texts would be too many or too long. */
export function pasted(composer: Composer, text: string): Composer | undefined {
  if (!isLongPaste(text)) return typed(composer, text);
  const plain = withoutMarks(text);
  const { buffer, pastes } = composer;
  const length = pastes.reduce((sum, each) => sum + each.length, plain.length);
  if (pastes.length >= MAX_PASTES || length > MAX_PASTED) return undefined;
  const mark = String.fromCodePoint(FIRST + pastes.length);
  return { ...edited(composer, insert(buffer, mark)), pastes: [...pastes, plain.toWellFormed()] };
}

/** Returns the text in the text field, with the pasted texts. */
export function textIn({ buffer, pastes }: Composer): string {
  return expandPastes(buffer.text, pastes);
}

/** Handles a key. Returns undefined if the text field does not handle the key. */
export function composerKey(composer: Composer, key: KeyPress): ComposerStep | undefined {
  if (composer.search) return searchKey(composer, composer.search, key);
  const chosen = composer.completion && completionKey(composer, composer.completion, key);
  if (chosen) return { composer: chosen };
  if (key.name === 'enter') return enter(composer, key);
  if (isCtrl(key, 'r')) return startSearch(composer);
  if (key.name === 'up' || isCtrl(key, 'p')) return { composer: older(composer) };
  if (key.name === 'down' || isCtrl(key, 'n')) return { composer: newer(composer) };
  const change = editing(key);
  if (change) return { composer: edited(composer, change(composer.buffer)) };
  if (key.name === 'text' && !key.ctrl && !key.alt) return { composer: typed(composer, key.text) };
  return undefined;
}

function enter(composer: Composer, key: KeyPress): ComposerStep {
  const { buffer, past } = composer;
  if (key.shift || key.alt || key.ctrl) return { composer: typed(composer, '\n') };
  // Enter after a backslash replaces the backslash with a line break.
  if (buffer.text.slice(0, buffer.cursor).endsWith('\\')) {
    return { composer: edited(composer, replace(buffer, buffer.cursor - 1, buffer.cursor, '\n')) };
  }
  const text = textIn(composer).trim();
  if (text === '') return { composer };
  const remembered = past.at(-1) === text ? past : [...past, text].slice(-MAX_PAST);
  return { composer: createComposer(remembered), submit: text };
}

function older(composer: Composer): Composer {
  const { buffer, past, pastes, browsing } = composer;
  const moved = browsing ? undefined : up(buffer);
  if (moved) return edited(composer, moved);
  const at = (browsing?.at ?? past.length) - 1;
  const text = past[at];
  if (text === undefined) return composer;
  const draft = browsing?.draft ?? buffer.text;
  return { buffer: withText(text), past, pastes, browsing: { at, draft } };
}

function newer(composer: Composer): Composer {
  const { buffer, past, pastes, browsing } = composer;
  if (!browsing) return edited(composer, down(buffer) ?? buffer);
  const at = browsing.at + 1;
  const text = past[at];
  if (text === undefined) return { buffer: withText(browsing.draft), past, pastes };
  return { buffer: withText(text), past, pastes, browsing: { ...browsing, at } };
}

function completionKey(
  composer: Composer,
  completion: NonNullable<Composer['completion']>,
  key: KeyPress,
): Composer | undefined {
  const { choices, selected, start } = completion;
  const select = (index: number): Composer => ({
    ...composer,
    completion: { ...completion, selected: (index + choices.length) % choices.length },
  });
  if (key.name === 'up' || isCtrl(key, 'p')) return select(selected - 1);
  if (key.name === 'down' || isCtrl(key, 'n')) return select(selected + 1);
  if (key.name === 'escape') return withCompletion(composer, start, []);
  const choice = choices[selected];
  const { buffer } = composer;
  const changes = choice && choice.text.trimEnd() !== buffer.text.slice(start, buffer.cursor);
  // If the completion is already typed in full, Enter sends the prompt.
  const accepts = key.name === 'tab' || (key.name === 'enter' && changes && !key.shift && !key.alt);
  if (!accepts || !choice) return undefined;
  return edited(composer, replace(buffer, start, buffer.cursor, choice.text));
}

function startSearch(composer: Composer): ComposerStep {
  const { buffer, past, pastes } = composer;
  const search = { query: '', at: past.length, draft: buffer };
  return { composer: { buffer, past, pastes, search } };
}

function searchKey(
  composer: Composer,
  search: NonNullable<Composer['search']>,
  key: KeyPress,
): ComposerStep {
  const { past, pastes } = composer;
  const { query, at, draft } = search;
  const find = (wanted: string, from: number): ComposerStep => {
    const found = past.findLastIndex(
      (text, index) => index < from && text.toLowerCase().includes(wanted.toLowerCase()),
    );
    const hit = wanted === '' ? past.length : found;
    const buffer = past[hit] === undefined ? composer.buffer : withText(past[hit]);
    return { composer: { buffer, past, pastes, search: { query: wanted, at: hit, draft } } };
  };
  if (isCtrl(key, 'r')) return find(query, at < 0 ? past.length : at);
  if (key.name === 'backspace') return find(withoutLast(query), past.length);
  if (key.name === 'text' && !key.ctrl && !key.alt) return find(query + key.text, past.length);
  if (key.name === 'escape') return { composer: { buffer: draft, past, pastes } };
  return { composer: { buffer: composer.buffer, past, pastes } };
}

function isLongPaste(text: string): boolean {
  return text.length > MAX_SHOWN_CHARS || lineCount(text) > MAX_SHOWN_LINES;
}

/** Returns the text with each mark replaced by the pasted text. */
function expandPastes(text: string, pastes: Pastes): string {
  return text.replaceAll(MARKS, (mark) => pastes[(mark.codePointAt(0) ?? 0) - FIRST] ?? '');
}

/** Removes characters that would be taken for the mark of a paste. */
function withoutMarks(text: string): string {
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
