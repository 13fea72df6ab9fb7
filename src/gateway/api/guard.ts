/**
 * Checks that the caller has the scope that an operation of the protocol needs, and hides the secrets of webhooks. The
 * secrets are hidden because a caller may also read the tasks of other callers in its workspace, with the webhooks of
 * these tasks.
 */
import { A2AError } from '../../protocol/index.ts';
import {
  type CheckAccess,
  guardHandler,
  hidePushSecrets,
  type RequestHandler,
} from '../../tasks/index.ts';
import { agentOfTenant, callerOf } from './caller.ts';

/** Throws an A2AError if the caller may not do the operation. */
export const checkScope: CheckAccess = ({ access, on }, _params, call) => {
  const caller = callerOf(call);
  const isAgent = agentOfTenant(caller.tenant) !== undefined;
  if (on === 'card') {
    if (access !== 'read') throw new A2AError('forbidden');
    if (!isAgent) return;
    throw new A2AError('unsupportedOperation', 'This agent has no extended card');
  }
  // At an agent's own endpoint, reading and changing tasks need the same scope.
  caller.need(isAgent ? 'agents:use' : access === 'read' ? 'tasks:read' : 'tasks:write');
};

export function guardedHandler(handler: RequestHandler): RequestHandler {
  return hidePushSecrets(guardHandler(handler, checkScope), () => true);
}
