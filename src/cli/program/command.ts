/** Defines commands: their operands, flags and help, and the function that runs them. */
import { nearestNames } from '../../base/index.ts';
import { EXIT, usageError } from './exit.ts';
import {
  type Environment,
  type Flag,
  type Flags,
  type Parsed,
  parseFlags,
  toggle,
  variableOf,
} from './flags.ts';
import { indented, bold, dim } from './terminal.ts';

export interface CommandInput<F extends Flags> extends Parsed<F> {
  readonly environment: Environment;
}

export interface CommandOptions<F extends Flags> {
  /** The names of the operands, in order. Optional operands come last and are in brackets. By default none. */
  readonly operands?: readonly string[];
  /** A description of one or two sentences, for the help. */
  readonly about: string;
  readonly flags: F;
  readonly examples: readonly string[];
  /** Environment variables that do not belong to a flag, with their help. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Runs the command. Returns the exit code, or nothing if it is 0. */
  run(input: CommandInput<F>): Promise<number | void>;
}

/**
 * Runs a command with its arguments, and returns the exit code. `name` is the text before the arguments, for messages:
 * `parley send`, or `parley` without a command.
 */
export interface Command {
  (name: string, args: readonly string[], environment: Environment): Promise<number>;
  /** The flags, for the completions of shells. */
  readonly flags?: Flags;
  /** The actions, if the command has any, such as `create` in `parley keys create`. */
  readonly actions?: CommandTable;
}

/** Makes a command that parses its arguments, and then prints its help or runs. */
export function defineCommand<F extends Flags>(options: CommandOptions<F>): Command {
  const { operands = [], flags } = options;
  const required = operands.filter((operand) => !operand.startsWith('['));

  const command: Command = async (name, args, environment) => {
    const parsed = parseFlags(name, flags, args, environment);
    if (parsed.help) {
      process.stdout.write(helpOf(name, options));
      return EXIT.done;
    }
    const missing = required[parsed.operands.length];
    if (missing !== undefined) {
      const [example = name] = options.examples;
      throw usageError(`${name} needs ${missing}, for example: ${example}`);
    }
    const surplus = parsed.operands[operands.length];
    if (surplus !== undefined) {
      const quote = operands.some((operand) => /^\[(?:TEXT|PROMPT)\]$/.test(operand))
        ? 'put the text in quotes, or '
        : '';
      throw usageError(`unexpected argument "${surplus}": ${quote}see ${name} --help`);
    }
    return (await options.run({ ...parsed, environment })) ?? EXIT.done;
  };
  return Object.assign(command, { flags });
}

function helpOf<F extends Flags>(command: string, options: CommandOptions<F>): string {
  const { operands = [], about, examples } = options;
  const flags = flagCells({ ...options.flags, help: toggle('Show this help.') });
  const variables = Object.entries(options.variables ?? {});
  // The first column has the same width in the sections Flags and Variables.
  const rows = indented([...flags, ...variables.map(([variable, help]) => [variable, dim(help)])]);
  return [
    `${bold(command)} ${[...operands, '[flags]'].join(' ')}`,
    '',
    about,
    '',
    bold('Flags'),
    ...rows.slice(0, flags.length),
    '',
    ...(variables.length > 0 ? [bold('Variables'), ...rows.slice(flags.length), ''] : []),
    bold('Examples'),
    ...examples.map((example) => `  ${example}`),
    '',
    ...variablesLine(options.flags),
  ].join('\n');
}

/** Returns the lines about the environment variables of flags. */
function variablesLine(flags: Flags): string[] {
  const names = Object.keys(flags);
  const having = names.filter((name) => flags[name]?.variable !== false);
  const without = names.filter((name) => !having.includes(name));
  const [first] = having;
  if (first === undefined) return [];
  const listed = (list: readonly string[]) => list.map((name) => `--${name}`).join(' and ');
  const which =
    without.length > having.length
      ? `Only ${listed(having)} can`
      : `Each flag${without.length === 0 ? '' : ` except ${listed(without)}`} can`;
  return [
    dim(`${which} be set in the environment, for example ${variableOf(first)} for --${first}.`),
    '',
  ];
}

function flagCells(flags: Flags): string[][] {
  return Object.entries(flags).map(([name, flag]) => [spelled(name, flag), dim(flag.help)]);
}

/** Returns the lines of a help text that list flags. */
export function flagRows(flags: Flags): string[] {
  return indented(flagCells(flags));
}

/** Returns a flag as the help shows it: `-p, --prompt TEXT`, `--resume [ID]`, `--workspace DIR …`. */
function spelled(name: string, { short, value, optional, multiple, once }: Flag): string {
  const flag = short === undefined ? `--${name}` : `-${short}, --${name}`;
  const shown = value !== undefined && optional === true ? `[${value}]` : value;
  return `${flag}${shown === undefined ? '' : ` ${shown}`}${multiple === true && once !== true ? ' …' : ''}`;
}

/** One entry of a list of commands. Its module is loaded only when the command runs. */
interface CommandEntry {
  readonly operands?: string;
  readonly about: string;
  load(): Promise<Command>;
}

export type CommandTable = Readonly<Record<string, CommandEntry>>;

/**
 * Runs the entry `name` of a table. `program` is the text before the name: `parley` or `parley keys`. The error for an
 * unknown name uses `noun` as the word for an entry, and contains `advice`.
 */
export async function runFrom(
  table: CommandTable,
  program: string,
  [name = '', ...args]: readonly string[],
  environment: Environment,
  { noun = 'command', advice = '' } = {},
): Promise<number> {
  const entry = Object.hasOwn(table, name) ? table[name] : undefined;
  if (!entry) {
    const [near] = nearestNames(name, Object.keys(table));
    const hint = near === undefined ? '' : `did you mean ${program} ${near}? `;
    throw usageError(
      `unknown ${noun} "${name}": ${hint}${advice}${program} --help lists the ${noun}s`,
    );
  }
  const command = await entry.load();
  return command(`${program} ${name}`, args, environment);
}

/** Returns the lines of a help text that list the commands of a table. The rows in `first` come before them. */
export function commandRows(
  table: CommandTable,
  program: string,
  first: readonly (readonly [string, string])[] = [],
): string[] {
  const rows = Object.entries(table).map(([name, { operands = '', about }]) => [
    `${program} ${name} ${operands}`.trimEnd(),
    about,
  ]);
  return indented([...first, ...rows].map(([left = '', right = '']) => [left, dim(right)]));
}
