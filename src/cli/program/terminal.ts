/** Prints text, with colours and in aligned columns. In a pipe, and with NO_COLOR, prints it without colours. */
import { stripVTControlCharacters, styleText } from 'node:util';
import { printableJson, singleQuoted } from '../../base/index.ts';

type Format = Parameters<typeof styleText>[0];
type Stream = typeof process.stdout | typeof process.stderr;

/** Styles a text for a stream, by default for standard output. */
function style(format: Format, text: string, stream: Stream = process.stdout): string {
  return styleText(format, text, { stream });
}

export const bold = (text: string): string => style('bold', text);
export const dim = (text: string): string => style('dim', text);
export const green = (text: string): string => style('green', text);
export const yellow = (text: string): string => style('yellow', text);
export const red = (text: string): string => style('red', text);
export const cyan = (text: string): string => style('cyan', text);

/** Prints a line on standard output. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Prints a dimmed remark on standard error. */
export function note(line: string): void {
  process.stderr.write(`${style('dim', harmless(line), process.stderr)}\n`);
}

/** Prints an error in one line on standard error. */
export function complain(line: string): void {
  process.stderr.write(`${style('red', 'parley:', process.stderr)} ${harmless(line)}\n`);
}

/** Prints one JSON object on one line. */
export function sayJson(value: unknown): void {
  say(jsonText(value));
}

/** Returns the value as JSON. Escapes every character that a terminal would interpret. */
export function jsonText(value: unknown, indent?: number): string {
  return printableJson(JSON.stringify(value, null, indent));
}

/** Terminal control characters, and characters that change the order of displayed text. */
const CONTROL = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

function harmless(text: string): string {
  return text.replaceAll(CONTROL, '');
}

/**
 * Removes terminal control characters from an agent's text. If standard output is a pipe or a file, returns the text
 * unchanged.
 */
export function shown(text: string): string {
  return process.stdout.isTTY ? harmless(text) : text;
}

/** Puts an agent's text on one line and removes terminal control characters. */
export function word(text: string): string {
  return harmless(text).replaceAll(/\s+/g, ' ').trim();
}

/** Puts an argument for a shell on one line, and quotes it if necessary. */
export function quoted(argument: string): string {
  const text = word(argument);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : singleQuoted(text);
}

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

/** Waits until all output has been written, and the errors of failed writes have been emitted. */
export async function flushed(): Promise<void> {
  const drain = (stream: Stream) =>
    new Promise<void>((resolve) => {
      if (stream.destroyed || stream.writableLength === 0) resolve();
      else stream.write('', () => resolve());
    });
  await Promise.all([drain(process.stdout), drain(process.stderr)]);
  // An error is emitted one tick after the write has failed.
  await new Promise((resolve) => setImmediate(resolve));
}
