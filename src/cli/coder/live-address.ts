/** The flags that let others join a live session: its address, and a token with roles for each person. */
import type { LiveToken } from '../../live/index.ts';
import { LIVE_ROLES, LIVE_TOKEN } from '../../live/client/roles/index.ts';
import { isLoopback } from '../../base/index.ts';
import { usageError } from '../program/exit.ts';
import { listOption, option, toggle, type Values, checkUnique } from '../program/flags.ts';
import { DEFAULT_HOST, portNumber } from '../program/listen.ts';

export const LIVE_FLAGS = {
  remote: toggle(
    'At the start, do the same as /remote: open the session to the local network, and show a link and a QR code with which another device joins. From then on, every new client needs a token. With --public-url, the link has that address, and the session is opened to the network only if --a2a-host names a network address.',
  ),
  'a2a-port': option(
    'N',
    'Let others join on this port, over A2A and ACP; 0 picks a free port. Every message to this port is part of this session.',
  ),
  'a2a-host': option(
    'H',
    `The address to listen on; ${DEFAULT_HOST} by default. Addresses that are not loopback require --a2a-token. With --remote, the session also listens on this address, and --a2a-token is optional.`,
  ),
  'a2a-token': listOption(
    'NAME:ROLES:TOKEN',
    'Let a person join with this token. ROLES is a list of view, prompt and approve, separated by commas. Commands that change files, memory, the mode or the model need both prompt and approve. Without this flag, everyone on this machine may join with all roles. But with --remote, or with --public-url and no --trust-proxy, every new client needs a token.',
  ),
} as const;

/** The address at which others join the session. */
export interface LiveAddress {
  readonly port: number;
  readonly host: string;
  readonly tokens: readonly LiveToken[];
  /** Whether clients need a token even if `tokens` is empty. */
  readonly strict?: boolean;
}

/** The flags for a proxy in front of the port. */
interface ProxyFlags {
  readonly 'public-url'?: string | undefined;
  readonly 'trust-proxy'?: boolean;
}

/**
 * Returns the addresses from the flags. `address` is the address on which the session listens from its start. If
 * `address` is undefined, others can join only after /remote. `remoteHost` is the network address in --a2a-host. After
 * --remote or /remote, the session listens on this network address:
 *
 * - `remoteHost`, if it is defined.
 * - Otherwise, the address from which this machine reaches other networks. With --public-url, this address is not used.
 */
export function liveAddresses(values: Values<typeof LIVE_FLAGS> & ProxyFlags): {
  readonly address: LiveAddress | undefined;
  readonly remoteHost: string | undefined;
} {
  const { 'a2a-port': port, 'a2a-host': host = DEFAULT_HOST, remote } = values;
  const tokens = liveTokens(values['a2a-token']);
  const remoteHost = isLoopback(host) ? undefined : host;
  // A proxy on this machine connects from a loopback address, and some proxies add no header that reveals the proxy. So
  // with --public-url, every client needs a token, unless --trust-proxy is given.
  const proxied = values['public-url'] !== undefined && values['trust-proxy'] !== true;
  if (remote) {
    // At first, the port is open only on this machine. If --a2a-host is a network address, --remote opens it as well.
    const strict = proxied || port === undefined;
    const local = portNumber('--a2a-port', port ?? '0');
    const own = isLoopback(host) ? host : DEFAULT_HOST;
    return { address: { port: local, host: own, tokens, strict }, remoteHost };
  }
  if (port === undefined) {
    if (values['a2a-host'] === undefined && tokens.length === 0) {
      return { address: undefined, remoteHost: undefined };
    }
    throw usageError('--a2a-host and --a2a-token need --a2a-port: add --a2a-port N, or --remote');
  }
  if (!isLoopback(host) && tokens.length === 0) {
    throw usageError(
      `other machines can reach ${host}, so a token is required: add --a2a-token NAME:ROLES:TOKEN, or remove --a2a-host`,
    );
  }
  return {
    address: { port: portNumber('--a2a-port', port), host, tokens, strict: proxied },
    remoteHost,
  };
}

export function liveTokens(given: readonly string[]): LiveToken[] {
  const tokens = rejoined(given).map(liveToken);
  const known = new Map<string, string>();
  for (const { name, token } of tokens) {
    checkUnique('--a2a-token', { name, token }, known);
    known.set(name, token);
  }
  return tokens;
}

/**
 * Joins the pieces of each token. The value of PARLEY_A2A_TOKEN was split at all commas, but some of these commas
 * separate two roles inside a token.
 */
function rejoined(given: readonly string[]): string[] {
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
  // If the name has a comma, `rejoined` has joined an incomplete value to the value after it. The message does not
  // repeat the value, which may be a secret.
  if (name.trim() === '' || name.includes(',') || token === '') {
    throw usageError(
      '--a2a-token: the format is NAME:ROLES:TOKEN, for example phone:view,prompt:s3cret',
    );
  }
  if (!LIVE_TOKEN.test(token)) {
    throw usageError(
      `--a2a-token ${name}: a token may contain only letters, digits and !#$%&'*+-.^_\`|~`,
    );
  }
  const wanted = roles.split(/[,+]/).map((role) => role.trim());
  const known = LIVE_ROLES.filter((role) => wanted.includes(role));
  const unknown = wanted.find((role) => !LIVE_ROLES.some((each) => each === role));
  if (unknown !== undefined) {
    throw usageError(
      `--a2a-token ${name}: unknown role "${unknown}": use ${LIVE_ROLES.join(', ')}`,
    );
  }
  return { name: name.trim(), roles: known, token };
}
