/** Key presses, independent of how the terminal encodes them. */
import type { Key } from 'ink';

const NAMES = [
  ['return', 'enter'],
  ['escape', 'escape'],
  ['tab', 'tab'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['home', 'home'],
  ['end', 'end'],
  ['pageUp', 'page-up'],
  ['pageDown', 'page-down'],
] as const satisfies readonly (readonly [keyof Key, string])[];

export type KeyName = 'text' | (typeof NAMES)[number][1];

export interface KeyPress {
  readonly name: KeyName;
  /** The typed text or, with `ctrl`, the letter of the key. */
  readonly text: string;
  readonly ctrl: boolean;
  readonly alt: boolean;
  readonly shift: boolean;
}

/** The rows by which each key moves in a list or a long text. */
export const STEPS: Partial<Record<KeyName, number>> = {
  up: -1,
  down: 1,
  'page-up': -10,
  'page-down': 10,
  home: -Infinity,
  end: Number.MAX_SAFE_INTEGER,
};

export function press(name: KeyName, more: Partial<KeyPress> = {}): KeyPress {
  return { name, text: '', ctrl: false, alt: false, shift: false, ...more };
}

/**
 * Returns the keys in one input event of Ink. Fast typing can put several keys into one event. Ink reports pasted text
 * separately.
 */
export function keysOf(input: string, key: Key): KeyPress[] {
  if (key.eventType === 'release') return [];
  const modifiers = { ctrl: key.ctrl, alt: key.meta, shift: key.shift };
  const name = NAMES.find(([field]) => key[field])?.[1];
  if (name === 'escape' && key.meta) return [press('escape'), press('escape')];
  if (name !== undefined) return [press(name, modifiers)];
  // Ctrl-J, or Shift-Enter in terminals that are configured to send a line feed for it.
  if (input === '\n') return [press('enter', { shift: true })];
  if (input === '') return [];
  if (key.ctrl || key.meta) return [press('text', { text: input, ...modifiers })];
  // Input typed before the terminal entered raw mode ends in a line feed, which stands for Enter.
  return input
    .replace(/\r?\n$/, '\r')
    .split(CONTROL)
    .flatMap(typedKey);
}

const CONTROL = /((?!\t)\p{Cc})/u;

function typedKey(text: string): KeyPress[] {
  if (text === '') return [];
  if (text === '\r') return [press('enter')];
  // A tab with only other control characters beside it is a key press. A tab next to text stays part of the text,
  // because it was pasted by a terminal that does not mark pastes.
  if (text === '\t') return [press('tab')];
  if (text === '\n') return [press('enter', { shift: true })];
  if (!CONTROL.test(text)) return [press('text', { text })];
  const code = text.charCodeAt(0);
  // Control characters 1 to 26 are Ctrl-A to Ctrl-Z.
  if (code > 26) return [];
  return [press('text', { text: String.fromCharCode(code + 96), ctrl: true })];
}

/** Returns whether the key sends the text. With a modifier, Enter starts a new line. */
export function isPlainEnter({ name, ctrl, alt, shift }: KeyPress): boolean {
  return name === 'enter' && !ctrl && !alt && !shift;
}

export function isCtrl(key: KeyPress, letter: string): boolean {
  return key.name === 'text' && key.ctrl && key.text === letter;
}
