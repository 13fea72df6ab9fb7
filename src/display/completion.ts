/** Completion at the cursor: a slash command at the start of the text, or a file path after `@`. */
import type { SlashCommand } from '../protocol/development-tool/index.ts';

/** A text that is being edited, and the position of its cursor. */
export interface EditedText {
  readonly text: string;
  readonly cursor: number;
}

export interface Choice {
  /** The text to insert. */
  readonly text: string;
  readonly description: string;
}

export interface Completable {
  readonly kind: 'command' | 'file';
  /** The text typed so far: `mem`, `memory a`, `src/`. */
  readonly prefix: string;
  /** The offset of the prefix, after the slash or the `@`. */
  readonly start: number;
}

const MAX_CHOICES = 50;

export function completableAt({ text, cursor }: EditedText): Completable | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/([\w.:-]*(?: [\w.:-]*)*)$/.exec(before)?.[1];
  if (command !== undefined) return { kind: 'command', prefix: command, start: 1 };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before)?.[1];
  if (file === undefined) return undefined;
  return { kind: 'file', prefix: file, start: cursor - file.length };
}

/** Returns the commands that start with the prefix. For `memory `, returns the subcommands of /memory. */
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
  // A space follows a file, but not a folder, because a folder can be completed further.
  return paths.slice(0, MAX_CHOICES).map((path) => ({
    text: path.endsWith('/') ? path : `${path} `,
    description: '',
  }));
}
