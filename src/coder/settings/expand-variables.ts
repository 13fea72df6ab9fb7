/**
 * Replaces environment variables in the settings of an MCP server, so that keys need not be in the file:
 *
 *   ${NAME}, ${env:NAME}   the variable. It must be set
 *   ${NAME:-default}       the variable, or the default if the variable is not set or empty
 *   $NAME                  the variable, if NAME is in upper case. If the variable is not set, the text is kept
 *
 * Variables are replaced only for servers in the settings. They are never replaced for servers of a client, because the
 * client could then read the user's keys.
 */
import { defined } from '../../base/index.ts';
import type { McpServers } from '../../protocol/development-tool/index.ts';

type Server = McpServers[string];
export type Variables = Readonly<Record<string, string | undefined>>;

const VARIABLE = /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}|\$([A-Z_][A-Z0-9_]*)/g;

/**
 * Returns the settings of a server with its variables replaced. Throws if a variable in braces is not set and has no
 * default.
 */
export function expandVariables(server: Server, variables: Variables): Server {
  const expand = (text: string): string =>
    text.replaceAll(VARIABLE, (whole, braced?: string, otherwise?: string, bare?: string) => {
      if (bare !== undefined) return variables[bare] ?? whole;
      const value = variables[braced ?? ''];
      if (otherwise !== undefined) return value || otherwise;
      if (value === undefined) throw new Error(`the environment variable ${braced} is not set`);
      return value;
    });
  const each = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, expand(value)]));
  const { command, cwd, url, args, env, headers, oauth } = server;
  const { clientId, clientSecret } = oauth ?? {};
  return {
    ...server,
    ...each(defined({ command, cwd, url })),
    ...(args && { args: args.map(expand) }),
    ...(env && { env: each(env) }),
    ...(headers && { headers: each(headers) }),
    ...(oauth && { oauth: { ...oauth, ...each(defined({ clientId, clientSecret })) } }),
  };
}
