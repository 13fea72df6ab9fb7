/** A client of an agent in the same process, with the same interface as one across the network. */
import type { AgentCard, AgentService } from '../protocol/index.ts';
import { createClient, type AgentClient, type ClientOptions } from './client.ts';

/**
 * Makes a client of a service, such as a server's handler. There is no wire between them: objects are handed over as
 * they are, so do not change what you get.
 *
 *   const agent = local(handler);
 */
export function local(
  service: AgentService,
  card: AgentCard = NAMELESS,
  options: Omit<ClientOptions, 'card'> = {},
): AgentClient {
  return createClient(service, { ...options, card });
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
