/** Sets up the coding agent for `parley serve`. */
import { reasonOf } from '../../base/index.ts';
import { coderServeOptions } from '../../coder/index.ts';
import { removeOrphanTasks } from './live-store.ts';
import { servedAcp } from './served-acp.ts';
import { openCoder, openSessions, tellNotes, type CoderFlags } from './setup.ts';
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
  let closing = false;
  return {
    agent: coder.agent,
    store,
    options: { ...own, ...acp, routes: [...own.routes, ...acp.routes] },
    begin() {
      tellNotes(coder);
      // Connects to the MCP servers, so that broken ones are reported now, and not with a client's first message.
      void coder.workspaces.openRoots();
      const sweep = async () => {
        await coder.sweep();
        // Terminals that use the same store may have left the tasks of removed sessions in it.
        if (!closing) await removeOrphanTasks(store, sessions);
      };
      sweeping = sweepEveryHour(sweep, logger);
    },
    async close() {
      closing = true;
      clearInterval(sweeping);
      await coder.close();
      await sessions.close();
    },
  };
}

/**
 * Calls `sweep`, which removes old sessions, now and every hour. If the clock was set forward by mistake, all sessions
 * would look old. So after a jump of more than an hour, nothing is removed for an hour, and the operator has time to
 * correct the clock.
 */
function sweepEveryHour(sweep: () => Promise<void>, logger: ServerLog): NodeJS.Timeout {
  const start = () =>
    sweep().catch((error: unknown) => {
      logger.warn({ problem: reasonOf(error) }, 'failed to remove old sessions and their tasks');
    });
  const offsetNow = () => Date.now() - performance.now();
  let offset = offsetNow();
  void start();
  return setInterval(() => {
    const before = offset;
    offset = offsetNow();
    if (offset - before <= SWEEP_MS) void start();
    else logger.warn({}, 'the clock was set forward: sessions are not removed for an hour');
  }, SWEEP_MS).unref();
}
