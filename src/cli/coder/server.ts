/** The coding agent for `parley serve`: its tasks in the store, its sessions beside it. */
import { reasonOf } from '../../base/index.ts';
import { coderServeOptions } from '../../coder/index.ts';
import type { A2AAgent, TaskStore } from '../../tasks/index.ts';
import type { ServeOptions } from '../../server.ts';
import { openCoder, openSessions, tellNotes, type CoderFlags } from './setup.ts';
import type { Environment } from '../program/flags.ts';
import type { ServerLog } from '../program/log.ts';
import { openStore, storeLocation } from '../program/store-location.ts';
import { workspaceFolders } from '../program/workspace-folder.ts';

export interface CoderServerInput {
  readonly values: CoderFlags & {
    readonly workspace: readonly string[];
    readonly store: string | undefined;
    readonly durability: string | undefined;
  };
  readonly environment: Environment;
}

export interface CoderServer {
  readonly agent: A2AAgent;
  readonly store: TaskStore;
  readonly options: ServeOptions;
  begin(): void;
  close(): Promise<void>;
}

export async function serveCoder(
  { values, environment }: CoderServerInput,
  logger: ServerLog,
): Promise<CoderServer> {
  const roots = await workspaceFolders(values.workspace);
  const place = await storeLocation(values, environment, 'coder');
  const store = await openStore(place, environment, logger);
  try {
    const sessions = await openSessions(place);
    try {
      const coder = await openCoder({ values, environment, roots, sessions, serves: true, logger });
      return {
        agent: coder.agent,
        store,
        options: coderServeOptions(coder),
        begin() {
          tellNotes(coder);
          coder.sweep().catch((error: unknown) => {
            logger.warn({ problem: reasonOf(error) }, 'old sessions could not be removed');
          });
        },
        async close() {
          await coder.close();
          await sessions.close();
        },
      };
    } catch (error) {
      await sessions.close();
      throw error;
    }
  } catch (error) {
    await store.close();
    throw error;
  }
}
