/** Connects a client command to its agent. */
import { connect, discover, type FoundCard, type RetryOptions } from '../../client/index.ts';
import { isCompatible } from '../../protocol/development-tool/index.ts';
import { codecOf, VERSIONS } from '../../protocol/index.ts';
import type { CommandInput } from '../program/command.ts';
import { usageError } from '../program/exit.ts';
import { choice, listOption, option, toggle } from '../program/flags.ts';
import { note, quoted } from '../program/terminal.ts';

export const CONNECTION_FLAGS = {
  json: toggle("Print the protocol's JSON objects, one per line."),
  header: listOption("'K: V'", 'A header that is sent with every request.'),
  token: {
    ...option(
      'T',
      'Send this bearer token. PARLEY_TOKEN is not used here, because it is the token that parley serve requires from its clients.',
    ),
    variable: false,
  },
  'trusted-origin': listOption(
    'URL',
    "Another origin that the agent's card may refer to. The headers are sent there too.",
  ),
  'a2a-version': choice(
    'V',
    VERSIONS,
    'The protocol version: 0.3 or 1.0. By default the newest that the agent supports.',
  ),
} as const;

type ConnectionInput = CommandInput<typeof CONNECTION_FLAGS>;

export type Target = ReturnType<typeof targetOf>;
export type Connection = Awaited<ReturnType<typeof open>>;

/** Reads the URL, headers and version from the command line. */
export function targetOf({
  operands: [url = ''],
  values,
}: Pick<ConnectionInput, 'operands' | 'values'>) {
  if (!isHttp(url)) {
    throw usageError(`"${url}" is not a valid agent URL: write it as http://127.0.0.1:41242`);
  }
  const { username, password, host } = new URL(url);
  if (username !== '' || password !== '') {
    throw usageError(`the URL of ${host} contains credentials: pass them with --token or --header`);
  }
  const { token, 'trusted-origin': trustedOrigins, 'a2a-version': version } = values;
  const bad = trustedOrigins.find((text) => !isHttp(text));
  if (bad !== undefined) {
    throw usageError(`--trusted-origin "${bad}": write it as https://api.example`);
  }
  const headers = headersOf(values);
  if (token !== undefined) {
    if (headers['authorization'] !== undefined) {
      throw usageError('use either --token or --header Authorization, not both');
    }
    Object.assign(headers, headersOf({ header: [`Authorization: Bearer ${token}`] }));
  }
  return { url, headers, trustedOrigins, version };
}

function isHttp(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '');
}

/** Parses the headers. If a header is given twice, the last value wins. */
function headersOf({ header }: Pick<ConnectionInput['values'], 'header'>): Record<string, string> {
  const headers = new Headers();
  for (const line of header) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/s.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      // The line may contain a secret, so the error does not repeat it.
      throw usageError(`a --header has no name or no colon: write it as --header 'Name: value'`);
    }
    try {
      headers.set(name, value.trim());
    } catch {
      throw usageError(`the value of the header ${name} contains invalid characters`);
    }
  }
  return Object.fromEntries(headers);
}

/** Retries for about a minute, so that a person has time to restart a server. */
const RETRY: RetryOptions = {
  attempts: 24,
  delayMs: 250,
  maxDelayMs: 5000,
  onRetry(attempt) {
    if (attempt === 2) note('Connection lost. Retrying; press Ctrl-C to stop.');
  },
};

/** Fetches the agent's card and connects to the best interface. */
export async function open(input: ConnectionInput, extensions?: readonly string[]) {
  const { url, ...target } = targetOf(input);
  const { version } = target;
  const options = { ...target, retry: RETRY };
  const plain = await connect(url, { ...options, extensions: extensions ?? [] });
  // Activates the development-tool extension by default, so that the calls of a coding agent are shown. A required
  // extension is not activated automatically: the user must name it (`parley send --extension`).
  const offered = plain.card.capabilities.extensions ?? [];
  const active = offered.filter(({ uri, required }) => isCompatible(uri) && required !== true);
  const agent =
    extensions || active.length === 0
      ? plain
      : await connect(url, {
          ...options,
          card: plain.card,
          extensions: active.map(({ uri }) => uri),
        });
  const codec = codecOf(agent.endpoint.version, 'JSONRPC');
  const spoken = [
    ...target.trustedOrigins.flatMap((origin) => ['--trusted-origin', origin]),
    ...(version === undefined ? [] : ['--a2a-version', version]),
  ];
  return {
    agent,
    /** The codec of the negotiated protocol version. */
    codec,
    json: input.values.json,
    /** Returns another parley command for the same agent, to suggest it to the user. It contains no credentials. */
    command: (name: string, ...rest: readonly string[]) =>
      ['parley', name, ...[url, ...rest, ...spoken].map(quoted)].join(' '),
  };
}

/** Finds an agent's card. `raw` is the card as it was sent, including unknown fields. */
export async function discoverRaw(
  target: Target,
  timeoutMs?: number,
): Promise<FoundCard & { readonly raw: unknown }> {
  let raw: unknown;
  const found = await discover(target.url, {
    ...target,
    timeoutMs,
    async fetch(...request) {
      const response = await fetch(...request);
      raw = await response
        .clone()
        .json()
        .catch(() => undefined);
      return response;
    },
  });
  return { ...found, raw };
}
