/**
 * Styled text. The tone of a text is its meaning. Each display assigns a colour to each tone: the terminal by its
 * theme, the page by a CSS class.
 */

/** The meaning of a text, to which each display assigns a colour. */
export type Tone =
  | 'dim'
  | 'faint'
  | 'accent'
  | 'person'
  | 'other'
  | 'good'
  | 'warning'
  | 'bad'
  | 'added'
  | 'removed'
  | 'heading'
  | 'code'
  | 'link'
  | 'keyword'
  | 'string'
  | 'number'
  | 'comment'
  | 'type'
  | 'call';

export interface Look {
  readonly tone?: Tone;
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly strike?: boolean;
  /**
   * Whether the text is part of a QR code. A theme with colours draws it black on white. The theme `none` has no
   * colours, so it swaps the dark and the light modules.
   */
  readonly paper?: boolean;
}

export interface StyledText extends Look {
  readonly text: string;
}

export type StyledLine = readonly StyledText[];

export const EMPTY: StyledLine = [];

export function span(text: string, look: Tone | Look = {}): StyledText {
  return typeof look === 'string' ? { text, tone: look } : { ...look, text };
}

/** Returns a line in a single style. */
export function line(text: string, look: Tone | Look = {}): StyledLine {
  return text === '' ? EMPTY : [span(text, look)];
}

export function textOfLine(pieces: StyledLine): string {
  return pieces.map(({ text }) => text).join('');
}

/** Splits styled text at its line breaks. */
export function splitLines(pieces: StyledLine): StyledLine[] {
  const lines: StyledText[][] = [[]];
  for (const piece of pieces) {
    for (const [index, text] of piece.text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (text !== '') lines.at(-1)?.push({ ...piece, text });
    }
  }
  return lines;
}
