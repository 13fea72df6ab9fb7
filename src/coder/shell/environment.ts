/** The environment of a command: the user's own, without our secrets, and such that no program waits for a person. */

/** What we read keys from (see the models), and whatever is about ourselves. */
const OURS =
  /^(PARLEY_.*|(GEMINI|GOOGLE|GOOGLE_GENERATIVE_AI|ANTHROPIC|OPENAI|OPENAI_COMPATIBLE)_API_KEY|ANTHROPIC_AUTH_TOKEN)$/i;
/** They would change what a shell does before the command that was approved. */
const HIDDEN = /^(BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|BASH_FUNC_.*)$/;

/** Which execution a process belongs to; see process-tree.ts. */
export const MARKER = 'PARLEY_COMMAND';

const NICETIES: Readonly<Record<string, string>> = {
  TERM: 'dumb',
  NO_COLOR: '1',
  CI: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  // An editor that nobody sees would wait for ever; this one leaves the text as it is.
  EDITOR: 'true',
  VISUAL: 'true',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_TERMINAL_PROMPT: '0',
  DEBIAN_FRONTEND: 'noninteractive',
};

export function commandEnvironment(from: NodeJS.ProcessEnv): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && !OURS.test(name) && !HIDDEN.test(name)) environment[name] = value;
  }
  return { ...environment, ...NICETIES };
}
