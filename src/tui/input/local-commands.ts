/** Commands that this terminal handles itself. The session handles all others. */
import type { SlashCommand } from '../../protocol/development-tool/index.ts';

export const KEYS = `Enter sends · Shift-Enter, Alt-Enter, Ctrl-J or a \\ at the end: a new line
↑ ↓ earlier prompts · Ctrl-R searches them · @ files · / commands
Ctrl-G opens your editor · Ctrl-T thoughts · Ctrl-O the last call's whole output
In a dialog: ↑ ↓ and Enter, or a number · Esc rejects · Tab moves between the options and the text
Esc cancels the turn · Esc Esc goes back · Ctrl-C Ctrl-C or /quit leaves`;

export const LOCAL_COMMANDS: readonly SlashCommand[] = [
  command('quit', 'Leaves the session. A running turn stops when the program ends.'),
  command('keys', 'Shows the keyboard shortcuts.'),
  command('remote', 'Lets another device join, for example a phone. /remote off ends it.'),
  command('clients', 'Lists the clients of the session. /clients revoke ID removes one.'),
];

function command(name: string, description: string): SlashCommand {
  return { name, description, arguments: [], sub_commands: [] };
}

export type LocalCommand =
  | { readonly name: 'quit' }
  | { readonly name: 'keys' }
  | { readonly name: 'remote' | 'clients'; readonly words: readonly string[] };

export function localCommand(text: string): LocalCommand | undefined {
  const [name = '', ...words] = text.trim().split(/\s+/);
  if (name === '/remote' || name === '/clients') {
    return { name: name === '/remote' ? 'remote' : 'clients', words };
  }
  if (words.length > 0) return undefined;
  if (name === '/quit' || name === '/exit') return { name: 'quit' };
  return name === '/keys' ? { name: 'keys' } : undefined;
}
