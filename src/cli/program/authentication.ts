/** Who may call a server of ours: nobody is asked, one token, or a file with a token for each user. */
import { reasonOf, systemCode } from '../../base/index.ts';
import { readFileSync } from 'node:fs';
import { type Authenticate, bearerTokens } from '../../http/index.ts';
import { usageError } from './exit.ts';

interface Credentials {
  readonly values: { readonly token: string | undefined; readonly keys: string | undefined };
  readonly typed: ReadonlySet<string>;
}

/** The user that the one token of `--token` stands for. */
const TOKEN_USER = 'token';

export function authentication({ values, typed }: Credentials): Authenticate | undefined {
  let { token, keys } = values;
  if (token !== undefined && keys !== undefined) {
    // What was typed wins over what the environment says.
    if (typed.has('token') === typed.has('keys')) {
      throw usageError('--token and --keys exclude each other: put the token into the file');
    }
    if (typed.has('token')) keys = undefined;
    else token = undefined;
  }
  if (token !== undefined) return bearerTokens(new Map([[TOKEN_USER, checked('--token', token)]]));
  return keys === undefined ? undefined : bearerTokens(readKeys(keys));
}

/** Lines of NAME:TOKEN; `#` begins a comment. */
function readKeys(file: string): Map<string, string> {
  const tokens = new Map<string, string>();
  for (const [index, line] of read(file).split('\n').entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    const place = `${file}, line ${index + 1}`;
    const colon = text.indexOf(':');
    const name = text.slice(0, colon).trim();
    const token = text.slice(colon + 1).trim();
    if (colon < 0 || name === '' || token === '') {
      throw usageError(`${place}: write NAME:TOKEN`);
    }
    if (tokens.has(name)) throw usageError(`${place}: ${name} is there twice: keep one of them`);
    if ([...tokens.values()].includes(token)) {
      throw usageError(
        `${place}: ${name} has the token of somebody else: give everybody their own`,
      );
    }
    tokens.set(name, checked(place, token));
  }
  if (tokens.size === 0) throw usageError(`${file} has no keys: write lines of NAME:TOKEN`);
  return tokens;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const why = systemCode(error) === 'ENOENT' ? 'there is no such file' : reasonOf(error);
    throw usageError(`--keys ${file}: ${why}`, { cause: error });
  }
}

/** A token that no header can carry would lock everybody out. */
function checked(place: string, token: string): string {
  if (/^[\u0021-\u007e]+$/.test(token)) return token;
  throw usageError(`${place}: a token consists of visible ASCII characters, without spaces`);
}
