/** Checks that the caller has the scope that an operation of the protocol needs. */
import { A2AError } from '../../protocol/index.ts';
import { type CheckAccess, guardHandler, type RequestHandler } from '../../tasks/index.ts';
import { agentOfTenant, callerOf } from './caller.ts';

const check: CheckAccess = ({ access, on }, _params, call) => {
  const caller = callerOf(call);
  const isAgent = agentOfTenant(caller.tenant) !== undefined;
  if (on === 'card') {
    if (!isAgent) return;
    throw new A2AError('unsupportedOperation', 'This agent has no extended card');
  }
  // At an agent's own endpoint, all operations need the same scope.
  caller.need(isAgent ? 'agents:use' : access === 'read' ? 'tasks:read' : 'tasks:write');
};

export function guardedHandler(handler: RequestHandler): RequestHandler {
  return guardHandler(handler, check);
}
