/**
 * Escapes text that PostgreSQL cannot store. PostgreSQL refuses NUL in a text. The driver replaces lone surrogates, so
 * two different ids could become equal. NUL and lone surrogates are escaped with U+FFFF, a code point that is not a
 * character. U+FFFF itself is escaped too. JSON text contains neither NUL nor lone surrogates, because JSON.stringify
 * escapes both.
 */
const ESCAPE = '\uffff';
const SPECIAL = /[\0\uffff]|\p{Cs}/gu;
const ESCAPED = /\uffff([0-9a-f]{4})/g;

/** Returns a text that PostgreSQL can store. Different texts have different results. Most texts stay as they are. */
export function toPostgresText(text: string): string {
  return text.replace(
    SPECIAL,
    (character) => ESCAPE + character.charCodeAt(0).toString(16).padStart(4, '0'),
  );
}

/** Returns the text for which `toPostgresText` returned `stored`. */
export function fromPostgresText(stored: string): string {
  if (!stored.includes(ESCAPE)) return stored;
  return stored.replace(ESCAPED, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}

/** Returns the row with each text converted by `fromPostgresText`. */
export function fromPostgresRow<Row extends object>(row: Row): Row {
  const converted: Record<string, unknown> = {};
  for (const name in row) {
    const value: unknown = row[name];
    converted[name] = typeof value === 'string' ? fromPostgresText(value) : value;
  }
  // The type checker cannot infer that every field keeps its type.
  return converted as Row;
}
