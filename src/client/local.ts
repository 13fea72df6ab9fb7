/** A client of an agent in the same process, with the same interface as one across the network. */
import { type AgentCard, type AgentService, METHODS, parseWith } from '../protocol/index.ts';
import { createClient, type AgentClient, type ClientOptions } from './client.ts';

/**
 * Makes a client of a service, such as a server's handler. There is no wire between them, but parameters are checked as
 * if there were. What comes back is handed over as it is: do not change it.
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
  return {
    sendMessage: async (params, call) =>
      service.sendMessage(parseWith(METHODS.sendMessage.params, params), call),
    streamMessage: async (params, call) =>
      service.streamMessage(parseWith(METHODS.streamMessage.params, params), call),
    getTask: async (params, call) =>
      service.getTask(parseWith(METHODS.getTask.params, params), call),
    listTasks: async (params, call) =>
      service.listTasks(parseWith(METHODS.listTasks.params, params), call),
    cancelTask: async (params, call) =>
      service.cancelTask(parseWith(METHODS.cancelTask.params, params), call),
    subscribe: async (params, call) =>
      service.subscribe(parseWith(METHODS.subscribe.params, params), call),
    setPushConfig: async (params, call) =>
      service.setPushConfig(parseWith(METHODS.setPushConfig.params, params), call),
    getPushConfig: async (params, call) =>
      service.getPushConfig(parseWith(METHODS.getPushConfig.params, params), call),
    listPushConfigs: async (params, call) =>
      service.listPushConfigs(parseWith(METHODS.listPushConfigs.params, params), call),
    deletePushConfig: async (params, call) =>
      service.deletePushConfig(parseWith(METHODS.deletePushConfig.params, params), call),
    getExtendedCard: async (params, call) =>
      service.getExtendedCard(parseWith(METHODS.getExtendedCard.params, params), call),
  };
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
