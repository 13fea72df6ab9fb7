/**
 * A live session of the coding agent in this process, for the terminal and for editors: the agent, its tasks, the hub,
 * and the port on which others join it, if there is one.
 */
import { reasonOf } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import type { SessionStore, State } from '../../agent/index.ts';
import { openLive, type Live, liveServeOptions } from '../../live/index.ts';
import { coderServeOptions, MODE_KEY, MODEL_KEY } from '../../coder/index.ts';
import { EXTENSION_URI, type McpServers } from '../../protocol/development-tool/index.ts';
import { isTerminal, type TaskState } from '../../protocol/index.ts';
import type { RequestHandler } from '../../tasks/index.ts';
import { type Listening, serve } from '../../server.ts';
import { openCoder, type CoderFlags, type OpenedCoder } from './setup.ts';
import type { Environment } from '../program/flags.ts';
import { explainListen } from '../program/listen-error.ts';
import type { Door } from './live-flags.ts';
import { forgetLiveStore, openLiveStore, sweepLiveStores } from './live-store.ts';
import type { ServerLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import { localSession } from './session-finder.ts';
import type { StoreLocation } from '../program/store-location.ts';

export interface LiveSetup {
  readonly values: CoderFlags & { readonly store?: string | undefined };
  readonly environment: Environment;
  /** True paths. The session works in the first one. */
  readonly roots: readonly string[];
  readonly place: StoreLocation;
  readonly sessions: SessionStore;
  /** The session to go on with. */
  readonly resume?: string | undefined;
  readonly mcpServers?: McpServers | undefined;
  readonly door?: Door | undefined;
  readonly log: ServerLog;
}

export interface OpenedLive {
  readonly live: Live;
  readonly coder: OpenedCoder;
  readonly sessionId: string;
  /** Where others join. */
  readonly url: string | undefined;
  /** What somebody who sees it for the first time should know, a line each. */
  readonly notes: readonly string[];
  /** Whether anything was said in it. */
  used(): Promise<boolean>;
  /** Ends it for everybody, and whatever runs in it. */
  close(): Promise<void>;
}

export async function openLiveSession(setup: LiveSetup): Promise<OpenedLive> {
  const { values, environment, roots, sessions, door, log, place } = setup;
  const sessionId = setup.resume ?? randomUUIDv7();
  await using undo = new AsyncDisposableStack();
  const shared = door !== undefined;
  const coder = await openCoder({ values, environment, roots, sessions, shared, logger: log });
  undo.defer(() => coder.close());
  const named = values.store !== undefined;
  const store = await openLiveStore({ place, named, sessionId, environment, log });
  const session: { live?: Live } = {};
  const { acpSocket } = door ? await import('../../acp/index.ts') : {};
  const server = serve(coder.agent, {
    ...coderServeOptions(coder),
    ...(door &&
      liveServeOptions({
        live: () => session.live,
        tokens: door.tokens,
        acp:
          acpSocket &&
          ((socket, enter) => acpSocket(socket, enter, { version: VERSION, logger: log })),
        logger: log,
      })),
    logger: log,
    store,
  });
  undo.defer(() => server.close(0));
  let listening: Listening | undefined;
  if (door) {
    try {
      listening = await server.listen(door.port, door.host);
    } catch (error) {
      throw explainListen(error, door.host, door.port, '--a2a-port');
    }
    undo.adopt(listening, (each) => each.close(0));
  } else {
    await server.handler.recover();
  }
  if (setup.resume !== undefined) await rememberFlags(setup, setup.resume);
  const { taskId, former } =
    setup.resume === undefined ? { former: [] } : await tasksOf(server.handler, sessionId);
  const live = await openLive({
    coder,
    handler: server.handler,
    workspace: roots[0] ?? '',
    logger: log,
    contextId: sessionId,
    taskId,
    former,
    mcpServers: setup.mcpServers,
  });
  session.live = live;
  const opened = undo.move();

  async function used(): Promise<boolean> {
    return ((await sessions.get(localSession(sessionId)))?.events.length ?? 0) > 0;
  }

  return {
    live,
    coder,
    sessionId,
    url: listening?.url,
    notes:
      setup.resume === undefined || taskId !== undefined || former.length > 0
        ? coder.notes
        : [
            ...coder.notes,
            `The agent remembers this session; parley export ${sessionId} prints what was said in it.`,
          ],
    used,
    async close() {
      await live.close();
      const forget = place.kind === 'sqlite' && !named && !(await used());
      await opened.disposeAsync();
      if (forget) await forgetLiveStore(environment, sessionId);
    },
  };
}

/** Removes what is not to be kept any more. Behind the first frame: nobody waits for it. */
export function sweepSoon({ coder }: OpenedLive, setup: LiveSetup): void {
  const sweep = async () => {
    await coder.sweep();
    if (setup.place.kind === 'sqlite') await sweepLiveStores(setup.environment, setup.sessions);
  };
  sweep().catch((error: unknown) => {
    setup.log.warn({ problem: reasonOf(error) }, 'old sessions could not be removed');
  });
}

/** What the flags say counts from now on, whatever the session has chosen before; what it chooses next counts then. */
async function rememberFlags({ values, sessions }: LiveSetup, id: string): Promise<void> {
  const stateDelta: State = {
    ...(values.approval !== undefined && { [MODE_KEY]: null }),
    ...(values.model !== undefined && { [MODEL_KEY]: null }),
  };
  if (Object.keys(stateDelta).length === 0) return;
  const event = { id: randomUUIDv7(), runId: `flags-${randomUUIDv7()}`, author: 'user' };
  await sessions.append(localSession(id), [
    { ...event, timestamp: Date.now(), aside: true, actions: { stateDelta } },
  ]);
}

/** The task that a session can go on in, none where its last turn failed or was canceled; and those before, oldest first. */
async function tasksOf(
  handler: RequestHandler,
  contextId: string,
): Promise<{ readonly taskId?: string; readonly former: readonly string[] }> {
  const call = { extensions: [EXTENSION_URI] };
  const { tasks } = await handler.listTasks({ contextId, pageSize: 50, historyLength: 1 }, call);
  // One that was only reserved has nothing to show.
  const said = tasks.filter(({ status: { state } }) => state !== 'submitted');
  const [latest, ...others] = said;
  const goesOn = latest && !endsTask(latest.status.state);
  const former = (goesOn ? others : said).map(({ id }) => id).toReversed();
  return { ...(goesOn && { taskId: latest.id }), former };
}

/** A turn that ends so has no other one behind it. */
function endsTask(state: TaskState): boolean {
  return isTerminal(state) && state !== 'completed';
}
