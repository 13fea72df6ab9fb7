/**
 * Parses flags. One table per command defines the flags, their values and their help.
 *
 * Each flag without `variable: false` has an environment variable. Its name is `PARLEY_` and the flag's name in upper
 * case, with `_` instead of `-`. A flag on the command line takes precedence over its variable. If a flag may be
 * repeated, its variable holds a list separated by commas.
 */
import { reasonOf, systemCode, nearestNames } from '../../base/index.ts';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { usageError } from './exit.ts';

export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** Whether the command accepts at most one value of a `multiple` flag. The help then shows the flag without `…`. */
  readonly once?: boolean;
  /** The one-letter form of the flag. */
  readonly short?: string;
  /** Whether the value may be omitted. An omitted value is the empty string. */
  readonly optional?: boolean;
  /** The values that the flag accepts. By default all. */
  readonly choices?: readonly string[];
  /** False if the flag has no environment variable. */
  readonly variable?: false;
  /** The placeholder for the value in the help. */
  readonly value?: string;
  readonly help: string;
}

export type Flags = Readonly<Record<string, Flag>>;

/** Defines a flag with a value, for example `port: option('N', 'The port to listen on.')`. */
export function option(value: string, help: string) {
  return { type: 'string', value, help } as const;
}

/** Defines a flag whose value must be one of `choices`. */
export function choice<const Choice extends string>(
  value: string,
  choices: readonly Choice[],
  help: string,
) {
  return { type: 'string', value, choices, help } as const;
}

/** Defines a flag with a value. The flag may be given more than once. */
export function listOption(value: string, help: string) {
  return { type: 'string', multiple: true, value, help } as const;
}

/** Defines a flag without a value, for example `json: toggle('Print JSON.')`. */
export function toggle(help: string) {
  return { type: 'boolean', help } as const;
}

export type Values<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends { multiple: true }
    ? readonly string[]
    : F[Name] extends { type: 'boolean' }
      ? boolean
      : F[Name] extends { choices: readonly (infer Choice)[] }
        ? Choice | undefined
        : string | undefined;
};

export interface Parsed<F extends Flags> {
  readonly values: Values<F>;
  /** The arguments that are not flags, in order. */
  readonly operands: readonly string[];
  /** Names of the flags that were given on the command line, without those from environment variables. */
  readonly typed: ReadonlySet<string>;
  readonly help: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Parses the arguments of `command`, for example "parley send". Throws an ExitError if they are invalid. */
export function parseFlags<F extends Flags>(
  command: string,
  flags: F,
  args: readonly string[],
  environment: Environment,
): Parsed<F> {
  const parsed = parse(command, flags, args);
  const given: Readonly<Record<string, unknown>> = parsed.values;
  const help = given['help'] === true;
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    const value = given[name] ?? fromEnvironment(name, flag, environment);
    if (!help && typeof value === 'string') checkChoice(name, flag, value);
    values[name] = value;
  }
  return {
    values: values as Values<F>,
    operands: parsed.positionals,
    typed: new Set(Object.keys(given)),
    help,
  };
}

function checkChoice(name: string, { choices }: Flag, value: string): void {
  if (!choices || choices.includes(value)) return;
  const all = choices.length === 2 ? choices.join(' or ') : `one of ${choices.join(', ')}`;
  throw usageError(`--${name} ${value}: use ${all}`);
}

function parse(command: string, flags: Flags, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, multiple = false, short }]) => [
      name,
      { type, multiple, ...(short !== undefined && { short }) },
    ]),
  );
  try {
    return parseArgs({
      args: withOptionalValues(flags, args),
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    throw usageError(explain(command, flags, error), { cause: error });
  }
}

/** Matches an argument that looks like a flag. Such an argument is never the optional value of the flag before it. */
const FLAG = /^--?[A-Za-z][\w-]*(?:=|$)/;

/**
 * Rewrites flags with an optional value as `--name=value` or `--name=`, because Node's parser does not support them.
 */
function withOptionalValues(flags: Flags, args: readonly string[]): string[] {
  const optional = new Map<string, string>();
  for (const [name, flag] of Object.entries(flags)) {
    if (flag.optional !== true) continue;
    optional.set(`--${name}`, name);
    if (flag.short !== undefined) optional.set(`-${flag.short}`, name);
  }
  const end = args.indexOf('--');
  const out: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const name = end >= 0 && at >= end ? undefined : optional.get(arg);
    if (name === undefined) {
      out.push(arg);
      continue;
    }
    const next = args[at + 1];
    const valued = next !== undefined && next !== '--' && !FLAG.test(next);
    out.push(`--${name}=${valued ? next : ''}`);
    if (valued) at += 1;
  }
  return out;
}

/** Returns a message of one line that replaces Node's longer message. */
function explain(command: string, flags: Flags, error: unknown): string {
  const message = reasonOf(error);
  const name = /'(?:-\w, )?(--?[^'\s=]+)/.exec(message)?.[1] ?? '';
  const see = `${command} --help lists the flags`;
  switch (systemCode(error)) {
    case 'ERR_PARSE_ARGS_UNKNOWN_OPTION': {
      const [near] = nearestNames(name.replace(/^-+/, ''), Object.keys(flags));
      return `unknown flag ${name}: ${near === undefined ? see : `did you mean --${near}? ${see}`}`;
    }
    case 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE': {
      const flag = flags[name.replace(/^-+/, '')];
      return flag?.type === 'string'
        ? `${name} needs a value: ${name} ${flag.value ?? 'VALUE'}`
        : `${name} does not take a value: write ${name} alone`;
    }
    default:
      return `${message}: see ${command} --help`;
  }
}

export function variableOf(flag: string): string {
  return `PARLEY_${flag.toUpperCase().replaceAll('-', '_')}`;
}

function fromEnvironment(name: string, flag: Flag, environment: Environment): unknown {
  const variable = variableOf(name);
  const text = flag.variable === false ? undefined : environment[variable];
  const isSet = text !== undefined && text !== '';
  if (flag.multiple === true) return isSet ? list(text) : [];
  if (flag.type === 'string') return isSet ? text : undefined;
  if (!isSet) return false;
  if (/^(1|true|yes|on)$/i.test(text)) return true;
  if (/^(0|false|no|off)$/i.test(text)) return false;
  throw usageError(`${variable}=${text} is invalid: set it to 1 or 0`);
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Parses a flag's value as a whole number within a range. */
export function wholeNumber(
  flag: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw usageError(`${flag} ${text}: use a whole number from ${min} to ${max}`);
}

type Json = string | number | boolean | object | null;

/** Parses a flag's value as JSON. */
export function json(flag: string, text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    const why = reasonOf(error);
    throw usageError(
      `${flag} is not valid JSON (${why}): quote the value, for example ${flag} '{"key":"value"}'`,
    );
  }
}

/** Checks the value of `--public-url` and returns it. */
export function publicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (!/^https?:$/.test(url?.protocol ?? '')) {
    throw usageError(
      `--public-url ${text}: use a full http or https address, for example https://agent.example`,
    );
  }
  // The address is published in the card, so it must not contain credentials. Paths are appended to it, so it must not
  // contain a query or a fragment.
  if (url?.username || url?.password || /[?#]/.test(text)) {
    throw usageError(
      '--public-url: remove the user name, password, query and fragment from the address',
    );
  }
  return text;
}

/** Returns the text of a file that a flag names. Throws a usage error if it cannot be read. */
export function readFlagFile(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const why = systemCode(error) === 'ENOENT' ? 'no such file' : reasonOf(error);
    throw usageError(`${flag} ${file}: ${why}`, { cause: error });
  }
}

/** Throws if the name or the token is already in `tokens`. */
export function checkUnique(
  place: string,
  { name, token }: { readonly name: string; readonly token: string },
  tokens: ReadonlyMap<string, string>,
): void {
  if (tokens.has(name)) throw usageError(`${place}: the name ${name} is used twice: remove one`);
  if ([...tokens.values()].includes(token)) {
    throw usageError(`${place}: ${name} has the same token as another name: use different tokens`);
  }
}
