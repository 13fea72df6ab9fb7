/**
 * What a person has typed, as a command.
 *
 * Only known names count: `/etc/hosts is broken` is a sentence like any other. `//help` is how one says `/help` to the
 * model. What follows the name and the names below it are the arguments, as one text.
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
  /** A command, but not one that can be run: the line says what there is. */
  | { readonly kind: 'problem'; readonly problem: string };

export function parseTyped(text: string, commands: readonly CoderCommand[]): Typed {
  const [, slashes = '', name = '', rest = ''] =
    /^(\/{1,2})([^\s/]+)(?:\s+([^]*))?$/.exec(text) ?? [];
  const command = commands.find((each) => each.name === name);
  if (!command) return { kind: 'text', text };
  if (slashes === '//') return { kind: 'text', text: text.slice(1) };
  return resolve([name], command, rest.trim());
}

/** As `command/execute` names it: the path, and the arguments behind it. */
export function parsePath(
  path: readonly string[],
  args: string,
  commands: readonly CoderCommand[],
): Typed {
  const isPlain = path.every((name) => /^[^\s/]+$/.test(name));
  const text = `/${[...path, args.trim()].join(' ').trim()}`;
  const typed = isPlain ? parseTyped(text, commands) : undefined;
  if (typed?.kind === 'problem') return typed;
  // A name that is none below the others would be an argument.
  if (typed?.kind === 'command' && typed.path.length >= path.length) return typed;
  const names = commands.map(({ name }) => `/${name}`).join(', ');
  return { kind: 'problem', problem: `There is no command /${path.join(' ')}; there are ${names}` };
}

function resolve(path: readonly string[], command: CoderCommand, rest: string): Typed {
  const [, word = '', behind = ''] = /^(\S+)(?:\s+([^]*))?$/.exec(rest) ?? [];
  const below = command.subCommands?.find(({ name }) => name === word);
  if (below) return resolve([...path, word], below, behind);
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
  const { run, prompt, arguments: taken = [], subCommands = [] } = command;
  const names = subCommands.map((each) => commandSyntax([...path, each.name], each)).join(', ');
  if (!run && !prompt) return `/${path.join(' ')} is one of ${names}`;
  if (args === '' && taken.some(({ is_required }) => is_required)) {
    return `An argument is missing: ${commandSyntax(path, command)}`;
  }
  // A prompt takes whatever is typed behind it.
  if (prompt || args === '' || taken.length > 0) return undefined;
  return `/${path.join(' ')} takes no arguments${names === '' ? '' : `; there are ${names}`}`;
}
