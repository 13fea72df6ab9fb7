/** Sets up the coding agent for `parley serve`. */
import { coderServeOptions } from '../../coder/index.ts';
import { servedAcp } from './served-acp.ts';
import { openCoder, openSessions, tellNotes, type CoderFlags, type OpenedCoder } from './setup.ts';
import type { Environment } from '../program/flags.ts';
import type { ServerLog } from '../program/log.ts';
import { openStore, type StoreFlags, storeLocation } from '../program/store-location.ts';
import { workspaceFolders } from '../program/workspace-folder.ts';

/** The interval at which old sessions are removed. */
const SWEEP_MS = 3_600_000;

interface CoderServerInput {
  readonly values: CoderFlags & StoreFlags & { readonly workspace: readonly string[] };
  readonly environment: Environment;
}

/** Opens the agent, its store and its sessions. The server closes the store. */
export async function serveCoder({ values, environment }: CoderServerInput, logger: ServerLog) {
  const roots = await workspaceFolders(values.workspace);
  const place = storeLocation(values, environment, 'coder');
  await using undo = new AsyncDisposableStack();
  const store = await openStore(place, environment, logger);
  undo.defer(() => store.close());
  const sessions = await openSessions(place);
  undo.defer(() => sessions.close());
  const coder = await openCoder({ values, environment, roots, sessions, serves: true, logger });
  undo.defer(() => coder.close());
  const own = coderServeOptions(coder);
  const acp = servedAcp({ coder, sessions, logger });
  undo.move();
  let sweeping: NodeJS.Timeout | undefined;
  return {
    agent: coder.agent,
    store,
    options: { ...own, ...acp, routes: [...own.routes, ...acp.routes] },
    begin() {
      tellNotes(coder);
      // Connects to the MCP servers, so that broken ones are reported now, and not with a client's first message.
      void coder.workspaces.openRoots();
      void coder.sweep();
      sweeping = sweepEveryHour(coder, logger);
    },
    async close() {
      clearInterval(sweeping);
      await coder.close();
      await sessions.close();
    },
  };
}

/**
 * Removes old sessions every hour. If the clock was set forward by mistake, all sessions would look old. So after a jump
 * nothing is removed for an hour, and the operator has time to correct the clock.
 */
function sweepEveryHour(coder: Pick<OpenedCoder, 'sweep'>, logger: ServerLog): NodeJS.Timeout {
  const offsetNow = () => Date.now() - performance.now();
  let offset = offsetNow();
  const sweep = (): void => {
    const before = offset;
    offset = offsetNow();
    if (offset - before <= SWEEP_MS) return void coder.sweep();
    logger.warn({}, 'the clock was set forward: sessions are not removed for an hour');
  };
  return setInterval(sweep, SWEEP_MS).unref();
}
