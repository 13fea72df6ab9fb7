/** Handles the keys of a menu: the arrows (or Ctrl+P and Ctrl+N), Enter, and the number of an option. */
import { isCtrl, type KeyPress } from './keys.ts';

export type MenuStep = { readonly selected: number } | { readonly chosen: number };

/**
 * Handles a key. `selected` is the index of the selected option. It is -1 if no option is selected. In that case, Enter
 * chooses the index -1, which is no option. Returns undefined if the menu does not handle the key.
 */
export function menuKey(selected: number, count: number, key: KeyPress): MenuStep | undefined {
  if (count === 0) return undefined;
  if (key.name === 'up' || isCtrl(key, 'p')) {
    return { selected: (Math.max(0, selected) + count - 1) % count };
  }
  if (key.name === 'down' || isCtrl(key, 'n')) return { selected: (selected + 1) % count };
  if (key.name === 'enter') return { chosen: Math.min(selected, count - 1) };
  if (key.name !== 'text' || key.ctrl || key.alt || !/^[1-9]$/.test(key.text)) return undefined;
  const chosen = Number(key.text) - 1;
  return chosen < count ? { chosen } : undefined;
}
