/** `parley inspect`: opens the inspector of an agent in a browser. */
import { openBrowser } from '../program/browser.ts';
import { defineCommand } from '../program/command.ts';
import { option, toggle } from '../program/flags.ts';
import { DEFAULT_HOST, listenOn, portNumber } from '../program/listen.ts';
import { createLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import { untilSignal } from '../program/server-process.ts';
import { bold, cyan, dim, say, sayJson, word } from '../program/terminal.ts';
import { CONNECTION_FLAGS, targetOf } from '../remote/connection.ts';
import { inspectorServer } from '../remote/inspector-server.ts';

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
    json: toggle('When the inspector is ready, print its link as JSON. Opens no browser.'),
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
