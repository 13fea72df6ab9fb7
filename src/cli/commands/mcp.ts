/** `parley mcp`: logs in to an MCP server in the settings, or logs out. */
import { reasonOf } from '../../base/index.ts';
import { logInToMcpServer, logOutOfMcpServer } from '../../coder/index.ts';
import { loginPlace } from '../coder/login-place.ts';
import { openBrowser } from '../program/browser.ts';
import { defineCommand } from '../program/command.ts';
import { settingsFor } from '../program/settings.ts';
import { DATA_FOLDER_HELP, SECRET_KEY_VARIABLES } from '../program/folders.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { listOption, toggle, type Environment } from '../program/flags.ts';
import { complain, note, say } from '../program/terminal.ts';

export default defineCommand({
  operands: ['ACTION', 'NAME'],
  about:
    'Logs in to an MCP server, or logs out. NAME is the name of the server in settings.json. The action login opens a browser and logs in with OAuth. The action logout deletes the stored login.',
  flags: {
    'no-browser': toggle('Do not open a browser: only print the URL of the login.'),
    'allow-network': listOption(
      'CIDR',
      'Allow an authorization server in this private network, for example 10.0.0.0/8.',
    ),
  },
  examples: ['parley mcp login linear', 'parley mcp logout linear'],
  variables: {
    PARLEY_HOME: DATA_FOLDER_HELP,
    ...SECRET_KEY_VARIABLES,
  },

  async run({ values, operands: [action, name = ''], environment }) {
    if (action !== 'login' && action !== 'logout') {
      throw usageError(`unknown action "${action}": use parley mcp login NAME or logout NAME`);
    }
    const server = await serverNamed(name, environment);
    const place = { ...loginPlace(environment), allowNetworks: values['allow-network'] };
    const stop = new AbortController();
    process.once('SIGINT', () => stop.abort(new Error('interrupted')));
    try {
      if (action === 'logout') {
        const removed = await logOutOfMcpServer({ ...place, name, server });
        say(removed ? `Logged out of ${name}` : `Not logged in to ${name}`);
        return EXIT.done;
      }
      await logInToMcpServer({
        ...place,
        name,
        server,
        show(url) {
          note(`Log in to ${name} in your browser:\n${url.href}`);
          if (!values['no-browser']) openBrowser(url);
        },
        signal: stop.signal,
      });
    } catch (error) {
      if (stop.signal.aborted) return EXIT.interrupted;
      const direction = action === 'login' ? 'to' : 'from';
      complain(`the ${action} ${direction} ${name} failed: ${withCause(error)}`);
      return EXIT.failed;
    }
    say(`Logged in to ${name}`);
    return EXIT.done;
  },
});

/** Returns the reason. For a failed fetch, the actual reason is in the cause. */
function withCause(error: unknown): string {
  const cause = error instanceof TypeError ? error.cause : undefined;
  return cause === undefined ? reasonOf(error) : `${reasonOf(error)}: ${reasonOf(cause)}`;
}

async function serverNamed(name: string, environment: Environment) {
  const { settings, config } = await settingsFor(process.cwd(), environment);
  const servers = settings.mcpServers ?? {};
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (server) return server;
  const names = Object.keys(servers).join(', ');
  const hint =
    names === ''
      ? `: add it to mcpServers in ${config}/settings.json`
      : `; the servers are: ${names}`;
  throw usageError(`there is no MCP server "${name}" in the settings${hint}`);
}
