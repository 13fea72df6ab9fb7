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

type Palette = Readonly<Record<Tone, number>>;

const DARK: Palette = {
  dim: 246,
  faint: 242,
  accent: 110,
  person: 153,
  other: 180,
  good: 108,
  warning: 179,
  bad: 174,
  added: 114,
  removed: 174,
  heading: 110,
  code: 180,
  link: 110,
  keyword: 140,
  string: 108,
  number: 173,
  comment: 243,
  type: 109,
  call: 110,
};

const LIGHT: Palette = {
  dim: 242,
  faint: 248,
  accent: 25,
  person: 24,
  other: 94,
  good: 28,
  warning: 130,
  bad: 124,
  added: 28,
  removed: 124,
  heading: 25,
  code: 94,
  link: 25,
  keyword: 90,
  string: 28,
  number: 130,
  comment: 246,
  type: 30,
  call: 25,
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
  return name === 'light' ? coloured('light', LIGHT) : coloured('dark', DARK);
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

function coloured(name: ThemeName, palette: Palette): Theme {
  const codesOf = ({ tone, bold, italic, underline, strike, paper }: StyledText): string => {
    const codes: (number | string)[] = [];
    if (bold === true) codes.push(1);
    if (italic === true) codes.push(3);
    if (underline === true) codes.push(4);
    if (strike === true) codes.push(9);
    if (paper === true) codes.push(PAPER);
    if (tone !== undefined) codes.push(`38;5;${palette[tone]}`);
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
