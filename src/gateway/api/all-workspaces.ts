/**
 * Only operators may read the data of all workspaces: the metrics, and the usage and budgets of other workspaces. An
 * operator is a caller in the workspace `default` with the scope `metrics:read`. For all other callers, other
 * workspaces do not exist.
 */
import { A2AError } from '../../protocol/index.ts';
import { type Caller, DEFAULT_WORKSPACE } from './caller.ts';

/** Stands for all workspaces in a query. It is not a valid name of a workspace. */
export const ALL_WORKSPACES = '*';

export function seesAllWorkspaces(caller: Caller): boolean {
  return caller.workspace === DEFAULT_WORKSPACE && caller.may('metrics:read');
}

/**
 * Throws `forbidden` if the caller is not an operator. `what` is the start of the error message, before "all
 * workspaces".
 */
export function needAllWorkspaces(caller: Caller, what: string): void {
  if (seesAllWorkspaces(caller)) return;
  throw new A2AError(
    'forbidden',
    `${what} all workspaces: use a key of the workspace ${DEFAULT_WORKSPACE} with the scope metrics:read`,
  );
}

/**
 * Returns the workspace that the caller asks for, which is its own by default. Returns undefined for all workspaces.
 * Throws `notFound` if the workspace is not the caller's own and the caller is not an operator.
 */
export function askedWorkspace(caller: Caller, asked: string | undefined): string | undefined {
  if (asked === undefined || asked === caller.workspace) return caller.workspace;
  if (!seesAllWorkspaces(caller)) throw new A2AError('notFound', `There is no workspace ${asked}`);
  return asked === ALL_WORKSPACES ? undefined : asked;
}
