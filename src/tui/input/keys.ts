/** What a person presses, whichever way the terminal tells it. */
import type { Key } from 'ink';

export type KeyName =
  | 'text'
  | 'enter'
  | 'escape'
  | 'tab'
  | 'backspace'
  | 'delete'
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'home'
  | 'end'
  | 'page-up'
  | 'page-down';

export interface KeyPress {
  readonly name: KeyName;
  /** What is typed; with `ctrl` the letter. */
  readonly text: string;
  readonly ctrl: boolean;
  readonly alt: boolean;
  readonly shift: boolean;
}

const NAMES: readonly (readonly [keyof Key, KeyName])[] = [
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
];

export function press(name: KeyName, more: Partial<KeyPress> = {}): KeyPress {
  return { name, text: '', ctrl: false, alt: false, shift: false, ...more };
}

/**
 * The keys of one report of Ink's. There can be several: what is typed fast, or by a program, comes together, and an
 * Enter at its end is an Enter. One in the middle is a line break, as in a paste that does not say that it is one.
 */
export function keysOf(input: string, key: Key): KeyPress[] {
  if (key.eventType === 'release') return [];
  const modifiers = { ctrl: key.ctrl, alt: key.meta, shift: key.shift };
  const name = NAMES.find(([field]) => key[field] === true)?.[1];
  if (name === 'escape' && key.meta) return [press('escape'), press('escape')];
  if (name !== undefined) return [press(name, modifiers)];
  // Ctrl-J, and Shift-Enter in terminals that are told to send a line feed for it.
  if (input === '\n') return [press('enter', { shift: true })];
  if (input === '') return [];
  if (key.ctrl || key.meta) return [press('text', { text: input, ...modifiers })];
  // What was typed before the terminal was ours has line feeds.
  const typed = input.replaceAll(/\r\n?/g, '\n');
  const ends = typed.endsWith('\n');
  const text = ends ? typed.slice(0, -1) : typed;
  return [...(text === '' ? [] : [press('text', { text })]), ...(ends ? [press('enter')] : [])];
}

export function isCtrl(key: KeyPress, letter: string): boolean {
  return key.name === 'text' && key.ctrl && key.text === letter;
}
