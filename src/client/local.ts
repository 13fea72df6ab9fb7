/** Makes a client for an agent in the same process, with the same interface as a client for a remote agent. */
import {
  type AgentCard,
  type AgentService,
  METHODS,
  parseWith,
  withPreparedCalls,
} from '../protocol/index.ts';
import { createClient, type AgentClient, type ClientOptions } from './client.ts';

/**
 * Makes a client for a service, such as a server's handler. Parameters are checked as if they came over the network.
 * Results are not copied, so do not modify them.
 *
 *   const agent = local(handler);
 */
export function local(
  service: AgentService,
  card: AgentCard = NAMELESS,
  options: Omit<ClientOptions, 'card'> = {},
): AgentClient {
  const checked = withPreparedCalls(service, (operation, params) =>
    parseWith(METHODS[operation].params, params),
  );
  return createClient(checked, { ...options, card });
}

const NAMELESS: AgentCard = {
  name: 'local',
  description: 'An agent in the same process',
  version: '0',
  supportedInterfaces: [{ url: 'local:', protocolBinding: 'LOCAL', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
};
