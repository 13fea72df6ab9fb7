/** Draws the text field between two rules, and below it the completions or the search in earlier prompts. */
import { layout } from '../input/buffer.ts';
import { pasteLabel, type Composer } from '../input/composer.ts';
import { fit, lineWidth } from '../text/styled-line.ts';
import { line, span, type StyledLine, cleanLine } from '../../display/index.ts';

const MAX_CHOICES = 6;

export interface ComposerLines {
  readonly lines: readonly StyledLine[];
  /** The position of the cursor in `lines`. */
  readonly row: number;
  readonly column: number;
}

export interface ComposerRoom {
  readonly width: number;
  readonly maxRows: number;
  /** The text that is shown while the text field is empty. */
  readonly placeholder: string;
}

export function composerLines(
  composer: Composer,
  { width, maxRows, placeholder }: ComposerRoom,
): ComposerLines {
  const { buffer, pastes, search, completion } = composer;
  const rule = line('─'.repeat(width), 'faint');
  const { rows, row, column } = layout(buffer, width - 2, (each) => pasteLabel(each, pastes));
  const first = Math.max(0, Math.min(row - maxRows + 1, rows.length - maxRows));
  const shown = rows.slice(first, first + maxRows).map((text, index): StyledLine => {
    const sign = first + index === 0 ? '❯ ' : '  ';
    return [span(sign, { tone: 'person', bold: true }), span(text)];
  });
  if (buffer.text === '')
    shown[0] = [span('❯ ', { tone: 'person', bold: true }), span(placeholder, 'faint')];
  const below = search ? [searchLine(search)] : completion ? choiceLines(completion, width) : [];
  return {
    lines: [rule, ...shown.map((each) => fit(each, width)), rule, ...below],
    row: 1 + row - first,
    column: 2 + column,
  };
}

function searchLine({ query, at }: NonNullable<Composer['search']>): StyledLine {
  return [
    span('  search: ', 'dim'),
    span(query, 'accent'),
    ...(at < 0 ? [span('  no match', 'dim')] : [span('  Ctrl-R older · Enter accepts', 'faint')]),
  ];
}

function choiceLines(
  { choices, selected }: NonNullable<Composer['completion']>,
  width: number,
): StyledLine[] {
  const first = Math.max(0, Math.min(selected - MAX_CHOICES + 1, choices.length - MAX_CHOICES));
  const shown = choices.slice(first, first + MAX_CHOICES);
  const widest = Math.max(...shown.map(({ text }) => lineWidth(line(cleanLine(text)))));
  return shown.map(({ text, description }, index) => {
    const here = first + index === selected;
    const name = cleanLine(text);
    const pad = ' '.repeat(Math.max(0, widest - lineWidth(line(name))) + 2);
    return fit(
      [
        span(here ? '❯ ' : '  ', 'accent'),
        span(name, here ? { tone: 'accent', bold: true } : {}),
        span(`${pad}${cleanLine(description)}`, 'dim'),
      ],
      width,
    );
  });
}
