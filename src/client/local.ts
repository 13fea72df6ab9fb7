/** Makes a client for an agent in the same process, with the same interface as a client for a remote agent. */
import {
  type AgentCard,
  type AgentService,
  mapOperations,
  METHODS,
  parseWith,
  type StreamService,
  type UnaryService,
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
  return createClient(checked(service), { ...options, card });
}

function checked(service: AgentService): AgentService {
  const streams: StreamService = service;
  const others: UnaryService = service;
  return mapOperations({
    unary: (operation) => async (params, call) =>
      others[operation](parseWith(METHODS[operation].params, params), call),
    stream: (operation) => async (params, call) =>
      streams[operation](parseWith(METHODS[operation].params, params), call),
  });
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
