/**
 * The API that `parley inspect` offers to the inspector's page. Each route needs the token of the person who started
 * `parley inspect`.
 */
import { isObject } from '../../base/index.ts';
import { NO_STORE, type JsonRoute } from '../../http/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { AgentRelay } from './agent-relay.ts';

/** Maximum size of a request of the page. Such a request contains the request to the agent. */
const MAX_BODY_BYTES = 4 * 2 ** 20;

export function inspectorRoutes(relay: AgentRelay): JsonRoute[] {
  return [
    {
      verb: 'GET',
      path: '/inspector',
      handle: async () => ({ headers: NO_STORE, body: relay.state }),
    },
    {
      verb: 'POST',
      path: '/inspector/origins',
      maxBodyBytes: 8192,
      async handle({ body }) {
        const origin = isObject(body) ? body['origin'] : undefined;
        if (typeof origin !== 'string') {
          throw new A2AError('invalidParams', 'origin: must be a string');
        }
        relay.agree(origin);
        return { headers: NO_STORE, body: relay.state };
      },
    },
    {
      verb: 'POST',
      path: '/inspector/checks',
      maxBodyBytes: 65_536,
      handle: async ({ body }) => ({ headers: NO_STORE, body: await relay.tryGrpc(body) }),
    },
    {
      verb: 'POST',
      path: '/inspector/requests',
      maxBodyBytes: MAX_BODY_BYTES,
      handle: async ({ body }) => ({
        headers: { ...NO_STORE, 'content-type': 'application/x-ndjson' },
        chunks: relay.send(body),
      }),
    },
  ];
}
