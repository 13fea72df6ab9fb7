/** The flags by which a live session is opened to others: where it listens, and who may do what. */
import type { LiveRole } from '../../live/client/index.ts';
import type { LiveToken } from '../../live/index.ts';
import { isLoopback } from '../../http/index.ts';
import { usageError } from '../program/exit.ts';
import { wholeNumber } from '../program/flags.ts';

export const LIVE_FLAGS = {
  'a2a-port': {
    type: 'string',
    value: 'N',
    help: 'Let others join the session on this port, over A2A and ACP; 0 picks a free one.',
  },
  'a2a-host': {
    type: 'string',
    value: 'H',
    help: '127.0.0.1 by default; others need a token.',
  },
  'a2a-token': {
    type: 'string',
    multiple: true,
    value: 'NAME:ROLES:TOKEN',
    help: 'Who may join: roles are view, prompt and approve, with commas. Without one everybody on this machine may do everything.',
  },
} as const;

export interface LiveFlags {
  readonly 'a2a-port': string | undefined;
  readonly 'a2a-host': string | undefined;
  readonly 'a2a-token': readonly string[];
}

/** Where others come in. */
export interface Door {
  readonly port: number;
  readonly host: string;
  readonly tokens: readonly LiveToken[];
}

const DEFAULT_HOST = '127.0.0.1';
const ROLES: readonly LiveRole[] = ['view', 'prompt', 'approve'];
/** What can be sent as a header and as a subprotocol of a WebSocket. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** Undefined: nobody else can join. */
export function doorOf(values: LiveFlags): Door | undefined {
  const { 'a2a-port': port, 'a2a-host': host = DEFAULT_HOST } = values;
  if (port === undefined) {
    if (values['a2a-host'] === undefined && values['a2a-token'].length === 0) return undefined;
    throw usageError('--a2a-host and --a2a-token say who may join: add --a2a-port N');
  }
  const tokens = liveTokens(values['a2a-token']);
  if (!isLoopback(host) && tokens.length === 0) {
    throw usageError(
      `${host} can be reached by others, and there is no token: add --a2a-token NAME:ROLES:TOKEN, or leave --a2a-host out`,
    );
  }
  return { port: wholeNumber('--a2a-port', port, { min: 0, max: 65_535 }), host, tokens };
}

export function liveTokens(given: readonly string[]): LiveToken[] {
  const tokens = whole(given).map(liveToken);
  for (const [index, { name, token }] of tokens.entries()) {
    const before = tokens.slice(0, index);
    if (before.some((each) => each.name === name)) {
      throw usageError(`--a2a-token: ${name} is there twice: keep one of them`);
    }
    if (before.some((each) => each.token === token)) {
      throw usageError(
        `--a2a-token: ${name} has the token of somebody else: give everybody their own`,
      );
    }
  }
  return tokens;
}

/** The variable's list has commas between tokens, and tokens have commas between roles: each is as long as it has to be. */
function whole(given: readonly string[]): string[] {
  const found: string[] = [];
  let begun: string[] = [];
  for (const piece of given) {
    begun.push(piece);
    if (begun.join(',').split(':').length < 3) continue;
    found.push(begun.join(','));
    begun = [];
  }
  return begun.length > 0 ? [...found, begun.join(',')] : found;
}

function liveToken(text: string): LiveToken {
  const [name = '', roles = '', ...rest] = text.split(':');
  const token = rest.join(':');
  // What was given is not repeated: it may be a secret.
  if (name.trim() === '' || token === '') {
    throw usageError('--a2a-token: write NAME:ROLES:TOKEN, as in phone:view,prompt:s3cret');
  }
  if (!TOKEN.test(token)) {
    throw usageError(
      `--a2a-token ${name}: a token consists of letters, digits and -._~, so that a WebSocket can carry it`,
    );
  }
  const wanted = roles.split(/[,+]/).map((role) => role.trim());
  const known = ROLES.filter((role) => wanted.includes(role));
  const strange = wanted.find((role) => !ROLES.some((each) => each === role));
  if (strange !== undefined) {
    throw usageError(
      `--a2a-token ${name}: there is no role "${strange}", only ${ROLES.join(', ')}`,
    );
  }
  return { name: name.trim(), roles: known, token };
}
