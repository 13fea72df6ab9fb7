/** The server of `parley inspect`: the page, its API, and a link that works once. */
import { consoleRoutes } from '../../console/index.ts';
import { type AgentRelayOptions, inspectorRoutes } from '../../console/inspector/index.ts';
import { LiveAccess, ticketRoute } from '../../live/index.ts';
import { serve } from '../../serve.ts';
import { createAgent, type Logger } from '../../tasks/index.ts';
import { VERSION } from '../program/product.ts';

/**
 * Returns the server and the function `linkAt`. `linkAt(url)` returns a new link to the page of the server, where `url`
 * is the server's address.
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
