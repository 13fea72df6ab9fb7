/** /help: lists the commands. */
import { commandSyntax, type CoderCommand } from './command.ts';

export const helpCommand: CoderCommand = {
  name: 'help',
  description: 'Lists the commands.',
  async *run(_args, { commands }) {
    yield commands.flatMap((command) => linesOf([command.name], command)).join('\n');
    yield '\n\nTo send a message that starts with a command name to the model, start it with two slashes.';
  },
};

function linesOf(path: readonly string[], command: CoderCommand): string[] {
  const own =
    (command.run ?? command.prompt)
      ? [`${commandSyntax(path, command)}: ${command.description}`]
      : [];
  const below = (command.subCommands ?? []).flatMap((each) => linesOf([...path, each.name], each));
  return [...own, ...below];
}
