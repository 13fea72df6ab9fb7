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
];

function command(name: string, description: string): SlashCommand {
  return { name, description, arguments: [], sub_commands: [] };
}

export function localCommand(text: string): 'quit' | 'keys' | undefined {
  if (/^\/(?:quit|exit)\s*$/.test(text)) return 'quit';
  return /^\/keys\s*$/.test(text) ? 'keys' : undefined;
}
