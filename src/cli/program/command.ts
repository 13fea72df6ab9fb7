/** What a command is: operands, flags, help, and what it does. */
import { usageError } from './exit.ts';
import {
  type Environment,
  type Flag,
  type Flags,
  parseFlags,
  type Values,
  variableOf,
} from './flags.ts';
import { bold, dim } from './terminal.ts';

export interface CommandInput<F extends Flags> {
  readonly values: Values<F>;
  /** As many as the command has; optional ones may be undefined. */
  readonly operands: readonly (string | undefined)[];
  /** Flags that were typed, not taken from the environment. */
  readonly typed: ReadonlySet<string>;
  readonly environment: Environment;
}

export interface CommandOptions<F extends Flags> {
  /** Empty: the program's name alone. */
  readonly name: string;
  /** In order; the optional ones, which come last, in brackets. */
  readonly operands: readonly string[];
  /** One or two sentences. */
  readonly about: string;
  readonly flags: F;
  readonly examples: readonly string[];
  /** What else there is to know, by variable. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Does the work and returns the exit code. */
  run(input: CommandInput<F>): Promise<number>;
}

export type Command = (args: readonly string[], environment: Environment) => Promise<number>;

export function defineCommand<F extends Flags>(options: CommandOptions<F>): Command {
  const { name, operands, flags } = options;
  const full = `parley ${name}`.trimEnd();
  const required = operands.filter((operand) => !operand.startsWith('['));

  return async (args, environment) => {
    const parsed = parseFlags(full, flags, args, environment);
    if (parsed.help) {
      process.stdout.write(helpOf(options));
      return 0;
    }
    const missing = required[parsed.operands.length];
    if (missing !== undefined) {
      const [example = full] = options.examples;
      throw usageError(`${full} needs ${missing}: for example, ${example}`);
    }
    const surplus = parsed.operands[operands.length];
    if (surplus !== undefined) {
      const quote = operands.includes('[TEXT]') ? 'put the text in quotes, or ' : '';
      throw usageError(`"${surplus}" is one argument too many: ${quote}see ${full} --help`);
    }
    return options.run({ ...parsed, environment });
  };
}

function helpOf<F extends Flags>(options: CommandOptions<F>): string {
  const { name, operands, about, examples } = options;
  const flags = Object.entries<Flags[string]>({
    ...options.flags,
    help: { type: 'boolean', help: 'Show this.' },
  }).map(([flag, definition]): [string, string] => [spelled(flag, definition), definition.help]);
  const variables = Object.entries(options.variables ?? {});
  const width = Math.max(...[...flags, ...variables].map(([left]) => left.length));
  const rows = (entries: readonly (readonly [string, string])[]) =>
    entries.map(([left, right]) => `  ${left.padEnd(width)}  ${dim(right)}`);
  const first = Object.keys(options.flags)[0] ?? 'json';
  return [
    `${bold(`parley ${name}`.trimEnd())} ${[...operands, '[flags]'].join(' ')}`,
    '',
    about,
    '',
    bold('Flags'),
    ...rows(flags),
    '',
    ...(variables.length > 0 ? [bold('Variables'), ...rows(variables), ''] : []),
    bold('Examples'),
    ...examples.map((example) => `  ${example}`),
    '',
    dim(`Each flag can be set by a variable too: --${first} by ${variableOf(first)}.`),
    '',
  ].join('\n');
}

/** `-p, --prompt TEXT`, `--resume [ID]`, `--workspace DIR …`. */
function spelled(name: string, { short, value, optional, multiple }: Flag): string {
  const flag = short === undefined ? `--${name}` : `-${short}, --${name}`;
  const shown = value !== undefined && optional === true ? `[${value}]` : value;
  return `${flag}${shown === undefined ? '' : ` ${shown}`}${multiple === true ? ' …' : ''}`;
}
