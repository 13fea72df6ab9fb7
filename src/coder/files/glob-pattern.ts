/**
 * Patterns for paths: `*` and `?` within a name, `**` for any number of folders, `[a-z]`, `{a,b}`. A pattern without a
 * slash matches names in any folder, as in .gitignore.
 *
 * The patterns may come from models. They are not compiled to regular expressions, because matching a regular
 * expression can take exponential time. Here, the time is at most proportional to the length of the path times the
 * total length of the patterns after the expansion of braces.
 */
import { FileError } from './file-error.ts';

const MAX_PATTERN = 1000;
const MAX_ALTERNATIVES = 200;
/**
 * Maximum total length of the patterns after the expansion of braces. Each of these patterns is matched with every
 * path.
 */
const MAX_EXPANDED = 10_000;

type Token =
  | { readonly kind: 'text'; readonly char: string }
  | { readonly kind: 'one' | 'many' }
  | {
      readonly kind: 'set';
      readonly ranges: readonly (readonly [string, string])[];
      readonly not: boolean;
    };

/** The pattern for one name of a path, or `**`. */
type Step = readonly Token[] | '**';

/**
 * Returns a function that checks whether a relative path with slashes matches. If `anchored` is true, a pattern without
 * a slash matches only names in the root. Throws a FileError if the pattern is empty or too long, or if its braces
 * expand to too many patterns.
 */
export function compileGlob(
  pattern: string,
  { anchored = false }: { readonly anchored?: boolean } = {},
): (path: string) => boolean {
  if (pattern === '' || pattern.length > MAX_PATTERN) {
    throw badPattern(`the pattern is empty or longer than ${MAX_PATTERN} characters`);
  }
  const alternatives = expand(pattern.replace(/^(?:\.?\/)+/, '')).map((one) =>
    stepsOf(one, anchored),
  );
  return (path) => {
    const names = path.split('/');
    return alternatives.some((steps) => matchSteps(steps, names));
  };
}

/** Returns patterns without braces, one for each combination of the alternatives. */
function expand(pattern: string): string[] {
  let done = [''];
  let at = 0;
  while (at < pattern.length) {
    const char = pattern[at] ?? '';
    const braces = char === '{' ? alternativesAt(pattern, at) : undefined;
    let choices: string[];
    if (braces !== undefined) {
      choices = braces.parts.flatMap(expand);
      at = braces.end;
    } else if (char === '\\') {
      choices = [pattern.slice(at, at + 2)];
      at += 2;
    } else {
      choices = [char];
      at += 1;
    }
    if (done.length * choices.length > MAX_ALTERNATIVES) {
      throw badPattern(
        `the braces in the pattern expand to more than ${MAX_ALTERNATIVES} patterns`,
      );
    }
    done = done.flatMap((start) => choices.map((choice) => start + choice));
  }
  if (done.reduce((sum, one) => sum + one.length, 0) > MAX_EXPANDED) {
    throw badPattern(`the braces in the pattern expand to more than ${MAX_EXPANDED} characters`);
  }
  return done;
}

/**
 * Returns the alternatives in the braces that open at `open`, and the position after them. The alternatives are
 * separated by commas that are neither escaped nor inside nested braces. Returns undefined if the brace is not closed,
 * or if there is only one alternative.
 */
function alternativesAt(pattern: string, open: number) {
  const parts = [''];
  let depth = 0;
  for (let at = open + 1; at < pattern.length; at += 1) {
    let char = pattern[at] ?? '';
    if (char === '}' && depth === 0) return parts.length > 1 ? { parts, end: at + 1 } : undefined;
    if (char === '\\') {
      at += 1;
      char += pattern[at] ?? '';
    } else if (char === '{') depth += 1;
    else if (char === '}') depth -= 1;
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return undefined;
}

function badPattern(why: string): FileError {
  return new FileError('bad-pattern', why);
}

/** Returns a pattern that, compiled with `anchored`, matches exactly this relative path. */
export function literalGlob(path: string): string {
  return path.replaceAll(/[\\*?[\]{}]/g, '\\$&');
}

/** Returns whether the pattern, compiled with `anchored`, matches exactly one path. */
export function isLiteralPath(pattern: string): boolean {
  return !/[*?[\]{}]/.test(pattern.replaceAll(/\\./gs, ''));
}

/** Returns whether the name, used as a pattern of `matchesName`, matches only itself. */
export function isLiteralName(name: string): boolean {
  return !/[*?]/.test(name);
}

/** Returns whether a name matches a pattern in which only `*` and `?` are special. */
export function matchesName(pattern: string, name: string): boolean {
  const tokens = Array.from(pattern, (char): Token => {
    if (char === '*') return { kind: 'many' };
    return char === '?' ? { kind: 'one' } : { kind: 'text', char };
  });
  return matchName(tokens, name);
}

function stepsOf(pattern: string, anchored: boolean): Step[] {
  const steps = pattern.split('/').map((name): Step => (name === '**' ? '**' : tokensOf(name)));
  return !anchored && steps.length === 1 && steps[0] !== '**' ? ['**', ...steps] : steps;
}

function tokensOf(name: string): Token[] {
  const tokens: Token[] = [];
  const chars = Array.from(name);
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    if (char === '*') {
      // Several `*` in a row are equivalent to one `*`.
      if (tokens.at(-1)?.kind !== 'many') tokens.push({ kind: 'many' });
    } else if (char === '?') tokens.push({ kind: 'one' });
    else if (char === '\\' && at + 1 < chars.length) {
      at += 1;
      tokens.push({ kind: 'text', char: chars[at] ?? '' });
    } else if (char === '[') {
      const end = chars.indexOf(']', at + (/[!^]/.test(chars[at + 1] ?? '') ? 3 : 2));
      if (end === -1) tokens.push({ kind: 'text', char });
      else {
        tokens.push(setOf(chars.slice(at + 1, end)));
        at = end;
      }
    } else tokens.push({ kind: 'text', char });
  }
  return tokens;
}

function setOf(chars: readonly string[]): Token {
  const not = chars[0] === '!' || chars[0] === '^';
  const ranges: [string, string][] = [];
  for (let at = not ? 1 : 0; at < chars.length; at += 1) {
    const from = chars[at] ?? '';
    const isRange = chars[at + 1] === '-' && at + 2 < chars.length;
    ranges.push([from, isRange ? (chars[at + 2] ?? '') : from]);
    if (isRange) at += 2;
  }
  return { kind: 'set', ranges, not };
}

/** Returns whether the names match, folder by folder. */
function matchSteps(steps: readonly Step[], names: readonly string[]): boolean {
  return wild(
    steps.length,
    names.length,
    (step) => steps[step] === '**',
    (step, name) => {
      const tokens = steps[step];
      return tokens !== undefined && tokens !== '**' && matchName(tokens, names[name] ?? '');
    },
  );
}

function matchName(tokens: readonly Token[], name: string): boolean {
  const chars = Array.from(name);
  return wild(
    tokens.length,
    chars.length,
    (token) => tokens[token]?.kind === 'many',
    (token, char) => matchChar(tokens[token], chars[char] ?? ''),
  );
}

function matchChar(token: Token | undefined, char: string): boolean {
  if (token?.kind === 'text') return token.char === char;
  if (token?.kind === 'set') {
    return token.ranges.some(([from, to]) => from <= char && char <= to) !== token.not;
  }
  return token?.kind === 'one';
}

/**
 * Matches a sequence of items against a sequence of patterns. A wildcard (`isMany`) matches any number of items. After
 * a mismatch, only the last wildcard is retried, with one more item. Earlier wildcards need no retry, because the last
 * one can already skip as many items as necessary.
 */
function wild(
  patterns: number,
  things: number,
  isMany: (pattern: number) => boolean,
  isOne: (pattern: number, thing: number) => boolean,
): boolean {
  let pattern = 0;
  let thing = 0;
  let again: { pattern: number; thing: number } | undefined;
  while (thing < things) {
    if (pattern < patterns && isMany(pattern)) {
      again = { pattern, thing };
      pattern += 1;
    } else if (pattern < patterns && isOne(pattern, thing)) {
      pattern += 1;
      thing += 1;
    } else if (again === undefined) {
      return false;
    } else {
      again.thing += 1;
      thing = again.thing;
      pattern = again.pattern + 1;
    }
  }
  while (pattern < patterns && isMany(pattern)) pattern += 1;
  return pattern === patterns;
}
