/**
 * Themes assign a colour to each tone. The theme `none` writes no escape sequences. No information is lost without
 * colours.
 *
 * Themes use the 256-colour palette but not its first sixteen colours, which each terminal defines differently.
 */
import type { StyledLine, StyledText, Tone } from '../../display/index.ts';

export const THEME_NAMES = ['dark', 'light', 'none'] as const;
export type ThemeName = (typeof THEME_NAMES)[number];

export interface Theme {
  readonly name: ThemeName;
  /** Returns the line with escape sequences. */
  paint(line: StyledLine): string;
}

/** The colour of each tone, in the dark and in the light theme. */
const COLOURS: Readonly<Record<Tone, Readonly<Record<'dark' | 'light', number>>>> = {
  dim: { dark: 246, light: 242 },
  faint: { dark: 242, light: 248 },
  accent: { dark: 110, light: 25 },
  person: { dark: 153, light: 24 },
  other: { dark: 180, light: 94 },
  good: { dark: 108, light: 28 },
  warning: { dark: 179, light: 130 },
  bad: { dark: 174, light: 124 },
  added: { dark: 114, light: 28 },
  removed: { dark: 174, light: 124 },
  heading: { dark: 110, light: 25 },
  code: { dark: 180, light: 94 },
  link: { dark: 110, light: 25 },
  keyword: { dark: 140, light: 90 },
  string: { dark: 108, light: 28 },
  number: { dark: 173, light: 130 },
  comment: { dark: 243, light: 246 },
  type: { dark: 109, light: 30 },
  call: { dark: 110, light: 25 },
};

/** Black on white. */
const PAPER = '38;5;16;48;5;231';
const ESCAPE = '\u001b[';
const RESET = `${ESCAPE}0m`;

/** Returns the theme with this name, by default `dark`. With NO_COLOR or TERM=dumb, returns `none`. */
export function themeFor(
  name: string | undefined,
  environment: Readonly<Record<string, string | undefined>> = {},
): Theme {
  const bare = (environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb';
  if (bare || name === 'none') return NONE;
  return coloured(name === 'light' ? 'light' : 'dark');
}

export const NONE: Theme = {
  name: 'none',
  paint: (line) => line.map(({ text, paper }) => (paper === true ? swapped(text) : text)).join(''),
};

/**
 * Swaps the light and the dark modules of a QR code. Without colours, the text is assumed to be lighter than the
 * background, so the light modules must have the colour of the text.
 */
function swapped(blocks: string): string {
  const others: Record<string, string> = { ' ': '█', '█': ' ', '▀': '▄', '▄': '▀' };
  return Array.from(blocks, (block) => others[block] ?? block).join('');
}

function coloured(name: 'dark' | 'light'): Theme {
  const codesOf = ({ tone, bold, italic, underline, strike, paper }: StyledText): string => {
    const codes: (number | string)[] = [];
    if (bold === true) codes.push(1);
    if (italic === true) codes.push(3);
    if (underline === true) codes.push(4);
    if (strike === true) codes.push(9);
    if (paper === true) codes.push(PAPER);
    if (tone !== undefined) codes.push(`38;5;${COLOURS[tone][name]}`);
    return codes.join(';');
  };
  return {
    name,
    paint(line) {
      let painted = '';
      for (const piece of line) {
        const codes = codesOf(piece);
        painted += codes === '' ? piece.text : `${ESCAPE}${codes}m${piece.text}${RESET}`;
      }
      return painted;
    },
  };
}
