/** Measures text in terminal columns. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const WIDE =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|[^\p{ASCII}]\ufe0f)/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Splits a text into user-perceived characters. */
export function graphemes(text: string): string[] {
  if (PRINTABLE_ASCII.test(text)) return text.split('');
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Returns the text without its last user-perceived character. */
export function withoutLast(text: string): string {
  return text.slice(0, text.length - (graphemes(text).at(-1)?.length ?? 0));
}

export function graphemeWidth(grapheme: string): number {
  if (PRINTABLE_ASCII.test(grapheme)) return grapheme.length;
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Returns the width of a line in columns. */
export function widthOf(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += graphemeWidth(segment);
  return width;
}
