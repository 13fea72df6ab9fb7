/** `parley inspect`: opens the inspector of an agent in a browser. */
import { consoleRoutes } from '../../console/index.ts';
import { type AgentRelayOptions, inspectorRoutes } from '../../console/inspector/index.ts';
import { LiveAccess, ticketRoute } from '../../live/index.ts';
import { serve } from '../../serve.ts';
import { createAgent, type Logger } from '../../tasks/index.ts';
import { openBrowser } from '../program/browser.ts';
import { defineCommand } from '../program/command.ts';
import { option, toggle } from '../program/flags.ts';
import { DEFAULT_HOST, listenOn, portNumber } from '../program/listen.ts';
import { createLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import { untilSignal } from '../program/server-process.ts';
import { bold, cyan, dim, say, sayJson, word } from '../program/terminal.ts';
import { CONNECTION_FLAGS, targetOf } from '../remote/connection.ts';

const { header, token, 'trusted-origin': trustedOrigin } = CONNECTION_FLAGS;

export default defineCommand({
  operands: ['URL'],
  about:
    "Opens the inspector in a browser. It checks an agent's card, sends requests to the agent, and shows everything that is sent and received.",
  flags: {
    header,
    token,
    'trusted-origin': trustedOrigin,
    port: {
      ...option('N', 'The port of the inspector on this machine. By default a free port.'),
      // PARLEY_PORT does not apply, because it is the port of a server.
      variable: false,
    },
    'no-open': toggle('Only print the link of the inspector.'),
    json: toggle('When the inspector is ready, print its link as JSON. Does not open a browser.'),
  },
  examples: [
    'parley inspect http://127.0.0.1:41242',
    'parley inspect https://agent.example --token T',
    'parley inspect http://127.0.0.1:41242 --no-open',
  ],

  async run(input) {
    const { values, environment } = input;
    const target = targetOf({ ...input, values: { ...values, 'a2a-version': undefined } });
    const port = portNumber('--port', values.port ?? '0');
    const log = createLog(environment);
    const { server, linkAt } = inspectorServer(target, log);
    const listening = await listenOn(server, { host: DEFAULT_HOST, port, flag: '--port' });
    const ended = untilSignal(log);
    const link = linkAt(listening.url);
    if (values.json) {
      sayJson({ ready: true, url: link, port: listening.port, pid: process.pid, version: VERSION });
    } else {
      say(`${bold('Inspector')} of ${word(target.url)}: ${cyan(link)}`);
      say(
        dim(
          'Open the link within two minutes. It works only once. Press Ctrl-C to end the inspector.',
        ),
      );
      if (!values['no-open']) openBrowser(new URL(link));
    }
    const code = await ended;
    await listening.close(0);
    await log.flush();
    return code;
  },
});

/**
 * Returns the server, which has the page and its API, and the function `linkAt`. `linkAt(url)` returns a new link to
 * the page, where `url` is the server's address. The link works once.
 */
export function inspectorServer(target: AgentRelayOptions, logger: Logger) {
  const access = new LiveAccess({
    strict: true,
    renewal: 'start parley inspect again to get a new link',
  });
  const server = serve(inspector, {
    logger,
    push: false,
    authenticate: access.authenticate,
    routes: [
      ...consoleRoutes({ inspector: true }),
      ticketRoute(access),
      ...inspectorRoutes(target),
    ],
  });
  return { server, linkAt: (url: string) => `${url}/console#ticket=${access.issueTicket([])}` };
}

/** The agent of the server. It only answers that this is the server of `parley inspect`. */
const inspector = createAgent(
  { name: 'Parley inspector', description: 'Serves the page of parley inspect', version: VERSION },
  async function* () {
    yield 'This is the server of parley inspect. Open its link in a browser.';
  },
);
