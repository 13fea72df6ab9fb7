/** `parley completion SHELL`: prints the completions for a shell, made from the tables that `--help` shows. */
import type { Command, CommandTable } from '../program/command.ts';
import { defineCommand } from '../program/command.ts';
import { completionScript, describe, SHELLS } from '../program/completion.ts';
import { usageError } from '../program/exit.ts';
import type { Flags } from '../program/flags.ts';

/** Makes the command for a table of commands, and for the flags of `parley` without a command. */
export function completionCommand(table: CommandTable, top: () => Promise<Flags>): Command {
  return defineCommand({
    operands: ['SHELL'],
    about: `Prints the completions of commands and flags for a shell: ${SHELLS.join(', ')}.`,
    flags: {},
    examples: [
      'eval "$(parley completion bash)"                                  # in ~/.bashrc',
      'eval "$(parley completion zsh)"                                   # in ~/.zshrc, after compinit',
      'parley completion fish > ~/.config/fish/completions/parley.fish',
    ],
    async run({ operands: [name = ''] }) {
      const shell = SHELLS.find((each) => each === name);
      if (shell === undefined) {
        throw usageError(`unknown shell "${name}": use one of ${SHELLS.join(', ')}`);
      }
      process.stdout.write(completionScript(shell, await describe(table, await top())));
    },
  });
}
