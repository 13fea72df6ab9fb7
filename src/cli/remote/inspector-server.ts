/** The server of `parley inspect`: the page, its API, and a link that works once. */
import { consoleRoutes } from '../../console/index.ts';
import {
  AgentRelay,
  type AgentRelayOptions,
  inspectorRoutes,
} from '../../console/inspector/index.ts';
import { LiveAccess, ticketRoute } from '../../live/index.ts';
import { type AgentServer, createAgent, serve } from '../../server.ts';
import type { Logger } from '../../tasks/index.ts';
import { VERSION } from '../program/product.ts';

export interface InspectorServer {
  readonly server: AgentServer;
  /** Returns a new link to the page of the server at this address. */
  readonly linkAt: (url: string) => string;
}

export function inspectorServer(target: AgentRelayOptions, logger: Logger): InspectorServer {
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
      ...inspectorRoutes(new AgentRelay(target)),
    ],
  });
  return { server, linkAt: (url) => `${url}/console#ticket=${access.issueTicket([])}` };
}

/** The page needs a server, and a server has an agent. This one only says what the server is. */
const inspector = createAgent(
  { name: 'Parley inspector', description: 'Serves the page of parley inspect', version: VERSION },
  async function* () {
    yield 'This is the server of parley inspect. Open its link in a browser.';
  },
);
