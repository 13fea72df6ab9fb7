/**
 * Parses typed text as a command.
 *
 * Only known names are commands: `/etc/hosts is broken` is plain text. `//help` sends the text `/help` to the model.
 * All text after the names of the command and its subcommands is passed to the command as one string.
 */
import { commandSyntax, type CoderCommand } from './command.ts';

export type Typed =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'command';
      readonly path: readonly string[];
      readonly command: CoderCommand;
      readonly args: string;
    }
  /** A command that cannot run. `problem` is the reason, in one line. */
  | { readonly kind: 'problem'; readonly problem: string };

export function parseTyped(text: string, commands: readonly CoderCommand[]): Typed {
  const [, slashes = '', name = '', rest = ''] =
    /^(\/{1,2})([^\s/]+)(?:\s+([^]*))?$/.exec(text) ?? [];
  const command = commands.find((each) => each.name === name);
  if (!command) return { kind: 'text', text };
  if (slashes === '//') return { kind: 'text', text: text.slice(1) };
  return resolve([name], command, rest.trim());
}

/** Parses the path and the arguments of a `command/execute` request. */
export function parsePath(
  path: readonly string[],
  args: string,
  commands: readonly CoderCommand[],
): Exclude<Typed, { kind: 'text' }> {
  const isPlain = path.every((name) => /^[^\s/]+$/.test(name));
  const text = `/${[...path, args.trim()].join(' ').trim()}`;
  const typed = isPlain ? parseTyped(text, commands) : undefined;
  if (typed?.kind === 'problem') return typed;
  // If fewer names were parsed than `path` has, an unknown subcommand was parsed as an argument.
  if (typed?.kind === 'command' && typed.path.length >= path.length) return typed;
  const names = commands.map(({ name }) => `/${name}`).join(', ');
  return {
    kind: 'problem',
    problem: `There is no command /${path.join(' ')}; the commands are ${names}`,
  };
}

function resolve(path: readonly string[], command: CoderCommand, rest: string): Typed {
  const [, word = '', after = ''] = /^(\S+)(?:\s+([^]*))?$/.exec(rest) ?? [];
  const below = command.subCommands?.find(({ name }) => name === word);
  if (below) return resolve([...path, word], below, after);
  const problem = problemOf(path, command, rest);
  return problem === undefined
    ? { kind: 'command', path, command, args: rest }
    : { kind: 'problem', problem };
}

function problemOf(
  path: readonly string[],
  command: CoderCommand,
  args: string,
): string | undefined {
  const { run, prompt, content, arguments: taken = [], subCommands = [] } = command;
  const names = subCommands.map((each) => commandSyntax([...path, each.name], each)).join(', ');
  if (!run && !prompt && !content) return `/${path.join(' ')} needs a subcommand: ${names}`;
  if (args === '' && taken.some(({ is_required }) => is_required)) {
    return `An argument is missing: ${commandSyntax(path, command)}`;
  }
  // A command with a prompt accepts any arguments.
  if (prompt || args === '' || taken.length > 0) return command.check?.(args);
  return `/${path.join(' ')} takes no arguments${names === '' ? '' : `; its subcommands are ${names}`}`;
}
