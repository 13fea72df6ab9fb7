/**
 * Creates the authentication of a server from its flags: one token, a file with one token per user, or no
 * authentication.
 */
import { type Authenticate, bearerTokens } from '../../http/index.ts';
import type { CommandInput } from './command.ts';
import { usageError } from './exit.ts';
import { readFlagFile, option, checkUnique } from './flags.ts';

export const AUTHENTICATION_FLAGS = {
  token: option('T', 'Require this bearer token from callers.'),
  keys: option(
    'FILE',
    'A file with one bearer token per user, in lines of the form NAME:TOKEN. Users see only their own tasks.',
  ),
} as const;

type Credentials = Pick<CommandInput<typeof AUTHENTICATION_FLAGS>, 'values' | 'typed'>;

/** The user name of all callers who send the token of `--token`. */
const TOKEN_USER = 'token';

export function authentication({ values, typed }: Credentials): Authenticate | undefined {
  let { token, keys } = values;
  if (token !== undefined && keys !== undefined) {
    // A flag takes precedence over an environment variable.
    if (typed.has('token') === typed.has('keys')) {
      throw usageError('use either --token or --keys, not both: put the token into the keys file');
    }
    if (typed.has('token')) keys = undefined;
    else token = undefined;
  }
  if (token !== undefined) return bearerTokens(new Map([[TOKEN_USER, checked('--token', token)]]));
  return keys === undefined ? undefined : bearerTokens(readKeys(keys));
}

/** Reads lines of NAME:TOKEN. A line that starts with `#` is a comment. */
function readKeys(file: string): Map<string, string> {
  const tokens = new Map<string, string>();
  for (const [index, line] of readFlagFile('--keys', file).split('\n').entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    const place = `${file}, line ${index + 1}`;
    const colon = text.indexOf(':');
    const name = text.slice(0, colon).trim();
    const token = text.slice(colon + 1).trim();
    if (colon < 0 || name === '' || token === '') {
      throw usageError(`${place}: the format is NAME:TOKEN`);
    }
    checkUnique(place, { name, token }, tokens);
    tokens.set(name, checked(place, token));
  }
  if (tokens.size === 0) throw usageError(`${file} has no keys: add lines of the form NAME:TOKEN`);
  return tokens;
}

/** Checks that a caller can send the token in a header. */
function checked(place: string, token: string): string {
  if (/^[\u0021-\u007e]+$/.test(token)) return token;
  throw usageError(`${place}: a token may contain only visible ASCII characters, without spaces`);
}
