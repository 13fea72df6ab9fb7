/** /memory: shows and extends the memory of the agent (files/memory.ts). */
import { addMemory, loadMemory, memoryText, type Memory } from '../files/memory.ts';
import { policyOf } from '../approval/guard.ts';
import { fileFilter } from '../approval/policy.ts';
import { refuseInPlan } from './approval.ts';
import { argument, CommandError, type CoderCommand, type CommandContext } from './command.ts';

export const memoryCommand: CoderCommand = {
  name: 'memory',
  description:
    'Shows or extends the memory of the agent: your own memory file, AGENTS.md, GEMINI.md and CLAUDE.md.',
  subCommands: [
    {
      name: 'show',
      description: 'Shows the text that the model gets.',
      async *run(_args, context) {
        yield memoryText(await load(context)) ?? 'The memory is empty.';
      },
    },
    {
      name: 'add',
      description: 'Adds a line to your memory.',
      arguments: [argument('TEXT', 'What to remember.')],
      changes: () => true,
      async *run(text, context) {
        refuseInPlan(context);
        try {
          yield `Added to ${await addMemory(context.configFolder, text)}`;
        } catch (error) {
          if (error instanceof RangeError) throw new CommandError(error.message);
          throw error;
        }
      },
    },
    {
      name: 'list',
      description: 'Lists the memory files.',
      async *run(_args, context) {
        yield listOf(await load(context));
      },
    },
    {
      name: 'refresh',
      description: 'Reads the files again and shows what was found.',
      async *run(_args, context) {
        const memory = await load(context);
        const size = memoryText(memory)?.length ?? 0;
        // The files are read again for every request to the model, so this command only shows them.
        yield `${memory.files.length} files, ${size} characters. They are read before every answer.\n`;
        yield listOf(memory);
      },
    },
  ],
};

function load({ agent, configFolder, run }: CommandContext): Promise<Memory> {
  const { root, mode, loosest, savedRules } = agent;
  const policy = policyOf({ root, mode, loosest, rules: savedRules.current() }, run.state);
  return loadMemory({
    workspace: root,
    configFolder,
    shows: fileFilter(policy),
    signal: run.signal,
  });
}

function listOf({ files, problems }: Memory): string {
  const lines = files.map(
    ({ path, scope, cut }) => `${path} (${scope}${cut ? ', truncated' : ''})`,
  );
  return [...lines, ...problems].join('\n') || 'There are no memory files.';
}
