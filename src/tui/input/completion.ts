/** What can be completed where the cursor is: a slash command at the beginning, or a file behind an `@`. */
import type { SlashCommand } from '../../protocol/development-tool/index.ts';
import type { TextBuffer } from './buffer.ts';

export interface Choice {
  /** What is written. */
  readonly text: string;
  readonly description: string;
}

export interface Completable {
  readonly kind: 'command' | 'file';
  /** What is there already: `mem`, `memory a`, `src/`. */
  readonly prefix: string;
  /** Where what is completed begins: behind the slash, or the `@`. */
  readonly start: number;
}

const MAX_CHOICES = 50;

export function completableAt({ text, cursor }: TextBuffer): Completable | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/([\w.-]*(?: [\w.-]*)*)$/.exec(before)?.[1];
  if (command !== undefined) return { kind: 'command', prefix: command, start: 1 };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before)?.[1];
  if (file === undefined) return undefined;
  return { kind: 'file', prefix: file, start: cursor - file.length };
}

/** The commands that begin so. `memory ` gives those below /memory. */
export function commandChoices(commands: readonly SlashCommand[], prefix: string): Choice[] {
  const words = prefix.split(' ');
  const last = words.pop() ?? '';
  let level = commands;
  for (const word of words) {
    level = level.find(({ name }) => name === word)?.sub_commands ?? [];
  }
  const path = words.map((word) => `${word} `).join('');
  return level
    .filter(({ name }) => name.startsWith(last) && (name !== last || words.length === 0))
    .slice(0, MAX_CHOICES)
    .map(({ name, description, arguments: taken, sub_commands: below }) => ({
      text: `${path}${name}${taken.length + below.length > 0 ? ' ' : ''}`,
      description,
    }));
}

export function fileChoices(paths: readonly string[]): Choice[] {
  // A folder goes on, a file is done.
  return paths.slice(0, MAX_CHOICES).map((path) => ({
    text: path.endsWith('/') ? path : `${path} `,
    description: '',
  }));
}
