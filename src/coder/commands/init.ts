/** /init: the model inspects the workspace and writes AGENTS.md. */
import type { CoderCommand } from './command.ts';

const PROMPT = `Write AGENTS.md in the root of this workspace: what an agent, or a new colleague, has to know to work \
here.

Look around first: the README, the manifest and its scripts, the layout of folders, the configuration of tests, linters \
and CI, a few typical source files. If there is an AGENTS.md, GEMINI.md or CLAUDE.md, keep its correct parts.

Then write, in at most a page: what the project is, in two sentences; how to build, test and check it, with the exact \
commands; how the code is laid out; the conventions that are not obvious from any single file. Write only what you \
have seen, without guesses and platitudes.`;

export const initCommand: CoderCommand = {
  name: 'init',
  description:
    'Inspects the workspace and writes AGENTS.md, which the agent reads in every conversation.',
  prompt: (args) => ({ text: args === '' ? PROMPT : `${PROMPT}\n\n${args}`, shell: [] }),
};
