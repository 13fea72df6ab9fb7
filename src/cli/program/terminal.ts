/** What is printed, and how it looks. Colours only where somebody sees them: no pipe, no NO_COLOR. */
import { styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];
type Stream = typeof process.stdout | typeof process.stderr;

/** Text in a style, for standard output unless said otherwise. */
function style(format: Format, text: string, stream: Stream = process.stdout): string {
  return styleText(format, text, { stream });
}

export const bold = (text: string): string => style('bold', text);
export const dim = (text: string): string => style('dim', text);
export const green = (text: string): string => style('green', text);
export const yellow = (text: string): string => style('yellow', text);
export const red = (text: string): string => style('red', text);
export const cyan = (text: string): string => style('cyan', text);

/** A line for standard output. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** A remark beside the answer: dimmed, on standard error. */
export function note(line: string): void {
  process.stderr.write(`${style('dim', line, process.stderr)}\n`);
}

/** What went wrong, in one line. */
export function complain(line: string): void {
  process.stderr.write(`${style('red', 'parley:', process.stderr)} ${line}\n`);
}

/** One JSON object, on one line. */
export function sayJson(value: unknown): void {
  say(JSON.stringify(value));
}

const CONTROL = /(?![\n\t])\p{Cc}/gu;

/**
 * Text of an agent's, for a person: what it could do to a terminal is taken out. In a pipe or a file every byte stays
 * as it is.
 */
export function shown(text: string): string {
  return process.stdout.isTTY ? text.replaceAll(CONTROL, '') : text;
}

/** The same for what has to stay on its line. */
export function word(text: string): string {
  return text.replaceAll(CONTROL, '').replaceAll(/\s+/g, ' ').trim();
}

/** An argument as a shell takes it, on one line. */
export function quoted(argument: string): string {
  const text = word(argument);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Waits until everything that was printed has left. */
export async function flushed(): Promise<void> {
  const drain = (stream: Stream) =>
    new Promise<void>((resolve) => {
      if (stream.destroyed || stream.writableLength === 0) resolve();
      else stream.write('', () => resolve());
    });
  await Promise.all([drain(process.stdout), drain(process.stderr)]);
}
