/** Sets up the coding agent for `parley serve`. */
import { coderServeOptions } from '../../coder/index.ts';
import { servedAcp } from './served-acp.ts';
import { openCoder, openSessions, tellNotes, type CoderFlags } from './setup.ts';
import type { Environment } from '../program/flags.ts';
import type { ServerLog } from '../program/log.ts';
import { openStore, type StoreFlags, storeLocation } from '../program/store-location.ts';
import { workspaceFolders } from '../program/workspace-folder.ts';

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
  return {
    agent: coder.agent,
    store,
    options: { ...own, ...acp, routes: [...own.routes, ...acp.routes] },
    begin() {
      tellNotes(coder);
      // Connects to the MCP servers, so that broken ones are reported now, and not with a client's first message.
      void coder.workspaces.openRoots();
      void coder.sweep();
    },
    async close() {
      await coder.close();
      await sessions.close();
    },
  };
}
