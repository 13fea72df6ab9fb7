/** Handles the keys of the session picker. Typing filters the list, and the arrows move the selection. */
import type { KeyPress } from './keys.ts';
import { isCtrl } from './keys.ts';

/** A session that can be resumed. */
export interface PickerItem {
  readonly id: string;
  /** A title for people, usually the first prompt. */
  readonly title: string;
  /** The time when the session was last used, as text. */
  readonly when: string;
}

export interface Picker {
  readonly items: readonly PickerItem[];
  readonly query: string;
  readonly selected: number;
}

export type PickerStep = { readonly picker: Picker } | { readonly picked: string | undefined };

export function matching({ items, query }: Picker): PickerItem[] {
  const words = query.toLowerCase().split(/\s+/);
  return items.filter(({ id, title }) => {
    const text = `${title} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function pickerKey(picker: Picker, key: KeyPress): PickerStep {
  const found = matching(picker);
  const move = (by: number): PickerStep => {
    const last = Math.max(0, found.length - 1);
    return { picker: { ...picker, selected: Math.min(last, Math.max(0, picker.selected + by)) } };
  };
  const search = (query: string): PickerStep => ({ picker: { ...picker, query, selected: 0 } });
  if (key.name === 'escape' || isCtrl(key, 'c')) return { picked: undefined };
  if (key.name === 'up') return move(-1);
  if (key.name === 'down') return move(1);
  if (key.name === 'page-up') return move(-10);
  if (key.name === 'page-down') return move(10);
  if (key.name === 'backspace') return search(picker.query.slice(0, -1));
  if (key.name === 'text' && !key.ctrl && !key.alt) return search(picker.query + key.text);
  const item = key.name === 'enter' ? found[picker.selected] : undefined;
  return item ? { picked: item.id } : { picker };
}
