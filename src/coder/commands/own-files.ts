/**
 * /helpers and /skills: list the helpers and the skills in the files of the user and the workspace. Problems with these
 * files are not listed, because every client can run the commands. The person who runs the program gets a notice about
 * each problem.
 */
import type { CoderCommand } from './command.ts';

export const helpersCommand: CoderCommand = {
  name: 'helpers',
  description: 'Lists the helpers that the model can call.',
  async *run(_args, { agent }) {
    const { helpers } = await agent.own.load();
    const lines = [...helpers.values()].map((helper) => {
      const { name, description, source, kind } = helper;
      const more =
        kind === 'remote' ? 'a remote agent' : `tools: ${helper.tools?.join(', ') ?? 'all'}`;
      return `${name} (${source}, ${more}): ${description}`;
    });
    yield lines.join('\n') || 'There are no helpers. docs/terminal.md says how to add one.';
  },
};

export const skillsCommand: CoderCommand = {
  name: 'skills',
  description: 'Lists the skills that the model can read.',
  async *run(_args, { agent }) {
    const { skills } = await agent.own.load();
    const lines = [...skills.values()].map(({ name, description }) => `${name}: ${description}`);
    yield lines.join('\n') || 'There are no skills. docs/terminal.md says how to add one.';
  },
};
