/** Formats text in aligned columns. */
import { stripVTControlCharacters } from 'node:util';

/** Returns one line per row. Colours and styles in a cell do not count towards its width. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, width(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - width(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** Returns one line per row, like `columns`, with an indent of two spaces. */
export function indented(rows: readonly (readonly string[])[]): string[] {
  return columns(rows).map((line) => `  ${line}`);
}

function width(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
