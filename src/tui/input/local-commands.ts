/** Commands that this terminal handles itself. The session handles all other commands. */
import type { SlashCommand } from '../../protocol/development-tool/index.ts';

export const KEYS = `Enter sends · Shift-Enter, Alt-Enter, Ctrl-J or a \\ at the end: a new line
↑ ↓ earlier prompts · Ctrl-R searches them · @ files · / commands
! runs a command in your own shell; the model sees its output with your next message
Shift-Tab changes the approval mode: ask, auto-edit, plan
Ctrl-G opens your editor · Ctrl-T thoughts · Ctrl-O the last call's whole output · Ctrl-L draws the screen again
In a dialog: ↑ ↓ and Enter, or a number · Esc rejects · Tab moves between the options and the text
Esc stops your command, or cancels the turn and keeps the queued prompts
Esc Esc opens a menu: edit the last prompt, or go back to a checkpoint
Ctrl-C clears the text · Ctrl-C Ctrl-C, Ctrl-D or /quit leaves`;

export const LOCAL_COMMANDS: readonly SlashCommand[] = [
  command('quit', 'Leaves the session. If this terminal runs the session, a running turn stops.'),
  command('keys', 'Shows the keyboard shortcuts.'),
  command('remote', 'Lets another device join, for example a phone. /remote off ends it.'),
  command('clients', 'Lists the clients of the session. /clients revoke NAME or ID removes one.'),
];

function command(name: string, description: string): SlashCommand {
  return { name, description, arguments: [], sub_commands: [] };
}

export interface LocalCommand {
  readonly name: 'quit' | 'keys' | 'help' | 'restore' | 'remote' | 'clients';
  readonly words: readonly string[];
}

const NAMES: ReadonlyMap<string, LocalCommand['name']> = new Map([
  ['/quit', 'quit'],
  ['/exit', 'quit'],
  ['/keys', 'keys'],
  ['/help', 'help'],
  ['/restore', 'restore'],
  ['/remote', 'remote'],
  ['/clients', 'clients'],
]);

export function localCommand(text: string): LocalCommand | undefined {
  const [typed = '', ...words] = text.trim().split(/\s+/);
  const name = NAMES.get(typed);
  // Only these two commands take words. Any other name that is followed by words is not a command of this terminal.
  const takesWords = name === 'remote' || name === 'clients';
  return name && (takesWords || words.length === 0) ? { name, words } : undefined;
}

/** Returns the text of `/help`: the commands of the session and of this terminal, and the keys. */
export function helpText(commands: readonly SlashCommand[]): string {
  return [
    ...[...commands, ...LOCAL_COMMANDS].flatMap((each) => rowsOf([], each)),
    'To send the model a message that starts with /NAME, write //NAME.',
    '',
    KEYS,
  ].join('\n');
}

function rowsOf(above: readonly string[], each: SlashCommand): string[] {
  const { name, description, arguments: taken, sub_commands: below } = each;
  const path = [...above, name];
  const words = taken.map((one) => (one.is_required ? one.name : `[${one.name}]`));
  const own = [`/${[...path, ...words].join(' ')}: ${description}`];
  return [...own, ...below.flatMap((sub) => rowsOf(path, sub))];
}
