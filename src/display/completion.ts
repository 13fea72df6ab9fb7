/** Completion at the cursor: a slash command at the start of the text, or a file path after `@`. */
import { nearestNames } from '../base/index.ts';
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

/**
 * Returns a message for the user if the text looks like a command but is not one, for example `/hepl`. Returns
 * undefined for a known command and for other text, for example `/etc/hosts is wrong`. A name with a colon is never
 * reported, because the prompts of an MCP server (`/server:prompt`) may not be loaded yet.
 */
export function unknownCommand(
  text: string,
  commands: readonly Pick<SlashCommand, 'name'>[],
): string | undefined {
  const name = /^\/([\w.-]+)(?:\s|$)/.exec(text)?.[1];
  const names = commands.map((each) => each.name);
  if (name === undefined || names.includes(name)) return undefined;
  const [near = names.find((each) => each.startsWith(name))] = nearestNames(name, names);
  const hint = near === undefined ? 'Type /help for a list.' : `Did you mean /${near}?`;
  return `There is no command /${name}. ${hint} To send the text to the model, start it with //${name}.`;
}

/** Removes the first slash of `//name` if `unknownCommand` would report `/name`. Returns any other text unchanged. */
export function unescapedCommand(
  text: string,
  commands: readonly Pick<SlashCommand, 'name'>[],
): string {
  // If `/name` is a command, the session itself removes the first slash.
  const isEscaped = text.startsWith('//') && unknownCommand(text.slice(1), commands) !== undefined;
  return isEscaped ? text.slice(1) : text;
}

export function fileChoices(paths: readonly string[]): Choice[] {
  // A space follows a file, but not a folder, because a folder can be completed further.
  return paths.slice(0, MAX_CHOICES).map((path) => ({
    text: path.endsWith('/') ? path : `${path} `,
    description: '',
  }));
}
