/** Choices, one below the other, with their numbers and a sign at the one that Enter takes. */
import { gutter, line, span, wrap, type Line } from '../text/span.ts';
import { cleanLine } from '../text/width.ts';

export interface MenuChoice {
  readonly name: string;
  readonly description?: string | undefined;
}

export function menuLines(choices: readonly MenuChoice[], selected: number, width: number): Line[] {
  return choices.flatMap(({ name, description }, index) => {
    const here = index === selected;
    const number = index < 9 ? `${index + 1}` : ' ';
    const text: Line = [
      span(cleanLine(name), here ? { tone: 'accent', bold: true } : {}),
      ...(description === undefined ? [] : [span(`  ${cleanLine(description)}`, 'dim')]),
    ];
    const first = [span(here ? '❯ ' : '  ', 'accent'), span(`${number} `, 'dim')];
    return gutter(wrap(text, width - 4), first, line('    '));
  });
}
