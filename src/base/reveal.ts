/**
 * Invisible characters, which are made visible in text that a person reads before an approval. A control character
 * could move the cursor and hide a part of a command. A bidirectional or zero-width character could disguise a
 * command.
 *
 *     reveal('rm a\rls') // 'rm a␍ls'
 */
const HIDDEN =
  /(?!\n|\t|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** The first of the symbols for the control characters 0 to 31. */
const CONTROL_PICTURES = 0x2400;
const DELETE = 0x7f;

/** Replaces invisible characters by symbols or code points. Keeps line feeds, tabs, U+FE0E and U+FE0F (emoji style). */
export function reveal(text: string): string {
  return text.replaceAll(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
    if (code === DELETE) return '\u2421';
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  });
}

/** Characters that may be unescaped in JSON, but that a terminal interprets or does not show. See HIDDEN. */
const UNESCAPED =
  /(?!\ufe0e|\ufe0f)[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Escapes the characters in JSON text that a terminal interprets or does not show. The value stays the same.
 *
 *     printableJson('{"a":"\u009b"}') // '{"a":"\\u009b"}'
 */
export function printableJson(json: string): string {
  return json.replaceAll(UNESCAPED, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
