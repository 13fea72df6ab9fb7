/**
 * The environment of the agent's commands. It is the user's environment with variables that make programs
 * non-interactive, but without Parley's secrets and without variables that make the shell run other code. The
 * environment of commands that a person types is different (`personEnvironment`).
 */
import { absoluteFolders } from '../../base/files/index.ts';

/** The names of variables that commands do not get, such as API keys of models and Parley's own variables. */
const SECRET =
  /^(PARLEY_.*|(GEMINI|GOOGLE|GOOGLE_GENERATIVE_AI|ANTHROPIC|OPENAI|OPENAI_COMPATIBLE)_API_KEY|ANTHROPIC_AUTH_TOKEN)$/i;
/** The names of the variables that `hideVariables` was called with. */
const hidden = new Set<string>();

/**
 * Hides further variables from all commands of the agent that start later. These are the variables with the keys of
 * remote helpers and of the providers in the settings.
 */
export function hideVariables(names: readonly string[]): void {
  for (const name of names) hidden.add(name);
}

function isHidden(name: string): boolean {
  const upper = name.toUpperCase();
  return SECRET.test(name) || [...hidden].some((each) => each.toUpperCase() === upper);
}

/** Variables that would make the shell run other code before the approved command. */
const SHELL_STARTUP = /^(BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|BASH_FUNC_.*)$/;

/** The variable that marks the processes of a command (see process-tree.ts). */
export const MARKER = 'PARLEY_COMMAND';

const NON_INTERACTIVE: Readonly<Record<string, string>> = {
  TERM: 'dumb',
  NO_COLOR: '1',
  CI: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  // A real editor would wait forever. The program `true` leaves the text unchanged.
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
    if (value === undefined || isHidden(name) || SHELL_STARTUP.test(name)) continue;
    environment[name] = name === 'PATH' ? absoluteFolders(value) : value;
  }
  return { ...environment, ...NON_INTERACTIVE };
}

/**
 * Returns the environment of a command that a person types: all variables of `from`, also the secrets. The variables in
 * NON_INTERACTIVE replace those with the same name.
 */
export function personEnvironment(from: NodeJS.ProcessEnv): Record<string, string> {
  const given = Object.entries(from).filter((entry): entry is [string, string] => entry[1] != null);
  return { ...Object.fromEntries(given), ...NON_INTERACTIVE };
}

/**
 * Returns whether commands must not see the variable. MARKER is not a secret, because each command gets its own value.
 */
export function isSecret(name: string): boolean {
  return isHidden(name) && name !== MARKER;
}

/** The names of secrets and of shell startup variables that may be in the environment of an editor. */
const KNOWN_SECRETS = (
  'GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_GENERATIVE_AI_API_KEY ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ' +
  'OPENAI_API_KEY OPENAI_COMPATIBLE_API_KEY PARLEY_SECRET_KEY PARLEY_PREVIOUS_SECRET_KEY PARLEY_A2A_TOKEN ' +
  'PARLEY_TOKEN BASH_ENV ENV SHELLOPTS BASHOPTS PROMPT_COMMAND PS4'
).split(' ');

/**
 * Returns the variables for a command in the terminal of an editor. The command inherits the editor's environment. No
 * variable can be removed from this environment, so the variables that the command must not see get an empty value.
 * Parley does not know the names in the editor's environment. But the editor usually starts Parley, so these names are
 * also in `own`, which is Parley's environment. `PATH` comes from `own` too, because Parley cannot remove the relative
 * folders from the editor's `PATH`. With such a folder, a file of the workspace could replace a program, even the shell
 * that runs the command. The command runs on Parley's machine, so the programs in Parley's `PATH` exist there.
 */
export function terminalEnvironment(own: NodeJS.ProcessEnv): Record<string, string> {
  const inherited = Object.keys(own).filter((name) => isSecret(name) || SHELL_STARTUP.test(name));
  const empty = [...KNOWN_SECRETS, ...hidden, ...inherited].map((name) => [name, '']);
  return { ...Object.fromEntries(empty), PATH: absoluteFolders(own['PATH']), ...NON_INTERACTIVE };
}
