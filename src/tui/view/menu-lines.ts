/** Choices, one below the other, with their numbers and a sign at the one that Enter takes. */
import { fit, gutter, line, span, wrap, type Line } from '../text/span.ts';
import { cleanLine } from '../text/width.ts';

export interface MenuChoice {
  readonly name: string;
  readonly description?: string | undefined;
}

/** Where there is no room for all, each is one line; where there is still none, those around the selected one. */
export function menuLines(
  choices: readonly MenuChoice[],
  selected: number,
  width: number,
  maxRows: number = Infinity,
): Line[] {
  const drawn = choices.map((choice, index) =>
    choiceLines(choice, index, index === selected, width),
  );
  const lines = drawn.flat();
  if (lines.length <= maxRows) return lines;
  const first = Math.max(0, Math.min(selected - maxRows + 1, choices.length - maxRows));
  return drawn
    .slice(first, first + Math.max(1, maxRows))
    .map(([start = [], more]) => (more ? fit([...start, span('  …')], width) : start));
}

function choiceLines(
  { name, description }: MenuChoice,
  index: number,
  here: boolean,
  width: number,
): Line[] {
  const number = index < 9 ? `${index + 1}` : ' ';
  const text: Line = [
    span(cleanLine(name), here ? { tone: 'accent', bold: true } : {}),
    ...(description === undefined ? [] : [span(`  ${cleanLine(description)}`, 'dim')]),
  ];
  const first = [span(here ? '❯ ' : '  ', 'accent'), span(`${number} `, 'dim')];
  return gutter(wrap(text, width - 4), first, line('    '));
}
