/**
 * Removes the secrets of an MCP server from its errors and its log. A server or a proxy may repeat the data of a
 * request in an error, and every client of a session sees the error of a server that is unavailable. Without this
 * module, the clients could see the secrets.
 */
import type { McpServerConfig } from './mcp-transport.ts';

/** Minimum length of a secret. A shorter value is not treated as a secret, because it may be part of other words. */
const MIN_LENGTH = 6;
const HIDDEN = '***';
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]{6,1000}/gi;
const SECRET_FLAG = /key|token|secret|password/i;

/**
 * Returns a function that replaces the secrets in a text. For a server with a URL, the secrets are the values of the
 * headers, the password in the URL and the query values. For a server that is a program, the secrets are the values of
 * the environment variables, and the values of arguments such as `--token=x` and `--token x`. The credentials after the
 * words `Bearer` and `Basic` are replaced too, even if they are not secrets of this server.
 */
export function secretHider(server: McpServerConfig): (text: string) => string {
  const values = 'url' in server ? inAddress(server) : inCommand(server);
  // A path is not a secret, and it is needed to understand an error.
  const secrets = [...new Set(values.concat(values.flatMap((value) => value.split(/\s+/))))]
    .filter((value) => value.length >= MIN_LENGTH && !value.startsWith('/'))
    .toSorted((a, b) => b.length - a.length);
  return (text) => {
    let shown = text;
    for (const secret of secrets) shown = shown.replaceAll(secret, HIDDEN);
    return shown.replaceAll(BEARER, `$1 ${HIDDEN}`);
  };
}

function inAddress({ url, headers = {} }: Extract<McpServerConfig, { url: unknown }>): string[] {
  const parsed = URL.parse(String(url));
  const inQuery = [...(parsed?.searchParams.values() ?? [])];
  const encoded = inQuery.map(encodeURIComponent);
  return [...Object.values(headers), ...inQuery, ...encoded, parsed?.password ?? ''];
}

/** Returns the values of environment variables, and the values of arguments such as `--token=x` and `--token x`. */
function inCommand({ env = {}, args = [] }: Extract<McpServerConfig, { command: unknown }>) {
  const given = args.flatMap((arg, at) => {
    const [, flag = '', value] = /^(--?[\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (!SECRET_FLAG.test(flag)) return [];
    return [value ?? args[at + 1] ?? ''];
  });
  return [...Object.values(env), ...given];
}
