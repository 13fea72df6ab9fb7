/** Handles the keys of a picker. Typing filters the list, and the arrows move the selection. */
import type { StyledLine } from '../../display/index.ts';
import { withoutLast } from '../text/width.ts';
import { isCtrl, STEPS, type KeyPress } from './keys.ts';

/** An item to choose: a session that can be resumed, or a checkpoint. */
export interface PickerItem {
  readonly id: string;
  /** A title for people: the first prompt of a session, or the change that follows a checkpoint. */
  readonly title: string;
  /** The time of the item, as text. */
  readonly when: string;
}

export interface Picker {
  readonly title: string;
  readonly items: readonly PickerItem[];
  readonly query: string;
  readonly selected: number;
  /** The preview of the item with this id. Undefined until it has been loaded. */
  readonly preview?: { readonly id: string; readonly lines: readonly StyledLine[] } | undefined;
}

export type PickerStep = { readonly picker: Picker } | { readonly picked: string | undefined };

export function matching({ items, query }: Pick<Picker, 'items' | 'query'>): PickerItem[] {
  const words = query.toLowerCase().split(/\s+/);
  return items.filter(({ id, title }) => {
    const text = `${title} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function selectedItem(picker: Picker): PickerItem | undefined {
  return matching(picker)[picker.selected];
}

export function pickerKey(picker: Picker, key: KeyPress): PickerStep {
  const found = matching(picker);
  const search = (query: string): PickerStep => ({ picker: { ...picker, query, selected: 0 } });
  if (key.name === 'escape' || isCtrl(key, 'c')) return { picked: undefined };
  const step = isCtrl(key, 'p') ? -1 : isCtrl(key, 'n') ? 1 : STEPS[key.name];
  if (step !== undefined) {
    const last = Math.max(0, found.length - 1);
    return { picker: { ...picker, selected: Math.min(last, Math.max(0, picker.selected + step)) } };
  }
  if (key.name === 'backspace') return search(withoutLast(picker.query));
  if (key.name === 'text' && !key.ctrl && !key.alt) return search(picker.query + key.text);
  const item = key.name === 'enter' ? found[picker.selected] : undefined;
  return item ? { picked: item.id } : { picker };
}
