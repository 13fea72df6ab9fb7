/** /help: lists the commands. */
import { commandSyntax, type CoderCommand } from './command.ts';

export const helpCommand: CoderCommand = {
  name: 'help',
  description: 'Lists the commands.',
  async *run(_args, { commands }) {
    yield commands.flatMap((command) => linesOf([command.name], command)).join('\n');
    yield '\n\nTo send the model a message that starts with the name of a command, write two slashes before the name.';
  },
};

function linesOf(path: readonly string[], command: CoderCommand): string[] {
  const own =
    (command.run ?? command.prompt ?? command.content)
      ? [`${commandSyntax(path, command)}: ${command.description}`]
      : [];
  const below = (command.subCommands ?? []).flatMap((each) => linesOf([...path, each.name], each));
  return [...own, ...below];
}
