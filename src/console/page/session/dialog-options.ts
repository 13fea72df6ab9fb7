/** The options of a dialog: the order of their buttons, their looks, and the keys that choose them. */
import type { ConfirmationOption } from '../../../protocol/development-tool/index.ts';
import { OPTION } from '../../../protocol/schema-free/index.ts';

/** The CSS classes of the buttons for the two usual answers: allow once, and reject. */
const USUAL: ReadonlyMap<string, string> = new Map([
  [OPTION.once, 'allow'],
  [OPTION.cancel, 'reject'],
]);

/** Returns the options in the order of their buttons: the two usual answers first. */
export function usualFirst(options: readonly ConfirmationOption[]): ConfirmationOption[] {
  const isUsual = ({ id }: ConfirmationOption) => USUAL.has(id);
  return [...options.filter(isUsual), ...options.filter((option) => !isUsual(option))];
}

/** Returns the CSS class of the option's button. */
export function lookOf({ id }: ConfirmationOption): string {
  return USUAL.get(id) ?? 'other-option';
}

/**
 * Returns the key from 1 to 9 that chooses the option, or undefined if the option has no key. The keys follow the
 * order of `options`, as in the terminal, so that a number means the same option on every display.
 */
export function shortcutOf(
  options: readonly ConfirmationOption[],
  option: ConfirmationOption,
): string | undefined {
  const at = options.indexOf(option);
  return at >= 0 && at < 9 ? String(at + 1) : undefined;
}

/** Returns the option that a key chooses, or undefined if there is none. */
export function optionForKey(
  options: readonly ConfirmationOption[],
  key: string,
): ConfirmationOption | undefined {
  return options.find((option) => shortcutOf(options, option) === key);
}
