/** The operations of the protocol, each behind the scope that it needs. */
import { A2AError, type Call } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import { agentOfTenant, callerOf, type Scope } from './caller.ts';

export function guardedHandler(handler: RequestHandler): RequestHandler {
  /** The agents' doors have one scope for all; the gateway's own tells readers from writers. */
  const need = (scope: Scope, call: Call = {}): void => {
    const caller = callerOf(call);
    caller.need(agentOfTenant(caller.tenant) === undefined ? scope : 'agents:use');
  };
  const read = (call?: Call): void => need('tasks:read', call);
  const write = (call?: Call): void => need('tasks:write', call);

  return {
    async sendMessage(params, call) {
      write(call);
      return handler.sendMessage(params, call);
    },
    async streamMessage(params, call, seen) {
      write(call);
      return handler.streamMessage(params, call, seen);
    },
    async cancelTask(params, call) {
      write(call);
      return handler.cancelTask(params, call);
    },
    async reserveTask(params, call) {
      write(call);
      return handler.reserveTask(params, call);
    },
    async setPushConfig(params, call) {
      write(call);
      return handler.setPushConfig(params, call);
    },
    async deletePushConfig(params, call) {
      write(call);
      return handler.deletePushConfig(params, call);
    },
    async getTask(params, call) {
      read(call);
      return handler.getTask(params, call);
    },
    async listTasks(params, call, options) {
      read(call);
      return handler.listTasks(params, call, options);
    },
    async subscribe(params, call) {
      read(call);
      return handler.subscribe(params, call);
    },
    async readLog(params, call) {
      read(call);
      return handler.readLog(params, call);
    },
    async getPushConfig(params, call) {
      read(call);
      return handler.getPushConfig(params, call);
    },
    async listPushConfigs(params, call) {
      read(call);
      return handler.listPushConfigs(params, call);
    },
    async getExtendedCard(params, call = {}) {
      if (agentOfTenant(callerOf(call).tenant) !== undefined) {
        throw new A2AError('unsupportedOperation', 'This agent has no extended card');
      }
      return handler.getExtendedCard(params, call);
    },
    recover: () => handler.recover(),
    expire: (options) => handler.expire(options),
    close: (ms) => handler.close(ms),
    get running() {
      return handler.running;
    },
  };
}
