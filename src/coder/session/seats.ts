/**
 * Which workspace a session works in.
 *
 * A client may name one in the settings of its first message; it must lie inside a root that the operator has given.
 * The session remembers it. A session that was told none works in the only root; with several, it has to be told.
 *
 * A seat stays open for the next turn, until there are too many: then the one that nobody has used for longest, and in
 * which nothing runs, is given up.
 */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Model, SessionKey, SessionStore, State } from '../../agent/index.ts';
import {
  EXTENSION_URI,
  settingsIn,
  type AgentSettings,
  type McpServers,
  messagesOf,
} from '../../protocol/development-tool/index.ts';
import { A2AError, type Metadata, type Task } from '../../protocol/index.ts';
import type { ExecutionContext, Logger, RequestContext } from '../../tasks/index.ts';
import { isInside } from '../files/path-rules.ts';
import { FileChanges } from '../approval/file-changes.ts';
import { APP, openSeat, type Seat } from './seat.ts';
import type { ApprovalMode } from '../approval/rule.ts';
import { loadSettings } from '../settings/settings.ts';
import { isTrusted } from '../settings/trust.ts';
import { userOf } from '../../bridge/index.ts';
import { guardedFetch } from '../web/guarded-fetch.ts';
import type { FetchPageOptions } from '../web/fetch-page.ts';

/** Workspaces that are open at the same time. */
const MAX_SEATS = 64;
/** Where a session notes what its client has settled. */
const SETTINGS_KEY = 'coder.settings';
/** Where a session notes the folder it works in, for those who look for it there. */
export const WORKSPACE_KEY = 'coder.workspace';

export interface SeatsOptions {
  /** The folders that clients may work in. */
  readonly roots: readonly string[];
  readonly model: Model;
  /** Over what the settings say. */
  readonly mode?: ApprovalMode;
  /** The loosest mode that sessions may choose. Unless told, auto-edit, and yolo where questions may be turned off. */
  readonly loosest?: ApprovalMode;
  readonly sandbox?: boolean;
  readonly sessions: SessionStore;
  readonly configFolder: string;
  readonly dataFolder: string;
  /** Clients may bring programs as MCP servers, and addresses in private networks. */
  readonly allowClientMcp?: boolean;
  /** Clients may turn questions off. */
  readonly allowAutoExecute?: boolean;
  /** What every turn begins with, whatever the session has in its place; null is nothing. */
  readonly turnState?: State;
  /** How addresses are reached that a model or a client has named. */
  readonly web?: FetchPageOptions;
  readonly logger: Logger;
}

export interface Seats {
  readonly model: Model;
  /** Refuses settings that cannot be met, in the metadata of a message or a task. */
  check(metadata: Metadata | undefined, place: SessionPlace): Promise<void>;
  /** Where a task is worked on, and what the session is to remember of that. */
  of(place: TaskPlace): Promise<Seating>;
  close(): Promise<void>;
}

export interface Seating {
  readonly seat: Seat;
  readonly state: State;
  /** Keeps the seat open until it is disposed of. */
  hold(): Disposable;
}

/** Whose session. */
export type SessionPlace = Pick<RequestContext, 'user' | 'tenant' | 'contextId'>;
/** A task in it. */
export type TaskPlace = SessionPlace & Pick<ExecutionContext, 'task'>;

interface Choice {
  readonly folder: string;
  readonly autoExecute: boolean;
  readonly mcpServers: McpServers;
}

export async function openSeats(options: SeatsOptions): Promise<Seats> {
  const roots = await Promise.all(options.roots.map((root) => realpath(root)));
  /** Those that were used last come last. */
  const seats = new Map<string, Opened>();
  const changes = new FileChanges();

  async function choose(settings: AgentSettings | undefined): Promise<Choice> {
    const { workspace_path, autoExecute = false, mcpServers = {} } = settings ?? {};
    if (autoExecute && options.allowAutoExecute !== true) {
      throw refused('autoExecute: this server does not allow it (--allow-auto-execute)');
    }
    if (autoExecute && (options.loosest ?? 'yolo') !== 'yolo') {
      throw refused(`autoExecute: this server does not allow it (--approval ${options.loosest})`);
    }
    for (const [name, { command }] of Object.entries(mcpServers)) {
      if (command === undefined || options.allowClientMcp === true) continue;
      throw refused(
        `mcpServers.${name}: this server starts no programs for clients (--allow-client-mcp)`,
      );
    }
    return { folder: await folderOf(workspace_path), autoExecute, mcpServers };
  }

  async function folderOf(wanted: string | undefined): Promise<string> {
    if (wanted === undefined) {
      if (roots.length === 1) return roots[0]!;
      throw refused('workspace_path: there are several workspaces here, say which one');
    }
    const outside = refused('workspace_path: it is in none of the workspaces of this server');
    if (!isAbsolute(wanted) || wanted.includes('\0')) throw outside;
    const folder = await realpath(wanted).catch(() => undefined);
    if (folder === undefined || !roots.some((root) => isInside(root, folder))) throw outside;
    if (!(await stat(folder)).isDirectory()) throw outside;
    return folder;
  }

  /** What the client has settled: these, else what it has earlier in the session. */
  async function settled(
    own: AgentSettings | undefined,
    place: SessionPlace,
  ): Promise<AgentSettings | undefined> {
    if (own) return own;
    const noted = (await options.sessions.get(keyOf(place)))?.state[SETTINGS_KEY];
    return noted === undefined ? undefined : settingsIn({ [EXTENSION_URI]: noted });
  }

  /** One seat for all sessions that want the same. */
  function seatFor(choice: Choice): Opened {
    const name = JSON.stringify([choice.folder, choice.autoExecute, choice.mcpServers]);
    let opened = seats.get(name);
    if (opened) seats.delete(name);
    else {
      if (seats.size >= MAX_SEATS) giveUpOne();
      opened = openedSeat(open(choice));
      // The next one tries again.
      opened.seat.catch(() => seats.delete(name));
    }
    seats.set(name, opened);
    return opened;
  }

  function giveUpOne(): void {
    for (const [name, { holds, ready }] of seats) {
      if (holds > 0 || !ready || ready.busy()) continue;
      seats.delete(name);
      ready.close().catch((error: unknown) => {
        options.logger.warn({ workspace: ready.root, err: error }, 'a workspace was not left well');
      });
      return;
    }
    throw new A2AError('unavailable', 'Too many workspaces are in use');
  }

  async function open({ folder, autoExecute, mcpServers }: Choice): Promise<Seat> {
    const { configFolder, logger } = options;
    const trusted = await isTrusted(configFolder, folder);
    const { settings, untrusted } = await loadSettings({
      configFolder,
      workspace: folder,
      trusted,
    });
    if (untrusted !== undefined) {
      logger.warn(
        { file: untrusted },
        'the settings of a workspace that is not trusted do not count',
      );
    }
    const mode = autoExecute ? 'yolo' : (options.mode ?? settings.approval ?? 'ask');
    return openSeat({
      ...options,
      changes,
      folder,
      settings,
      mode,
      loosest:
        options.loosest ?? (options.allowAutoExecute || mode === 'yolo' ? 'yolo' : 'auto-edit'),
      sandbox: options.sandbox ?? settings.sandbox ?? false,
      mcpServers,
      // Whoever may start programs here may reach what they could reach.
      ...(options.allowClientMcp !== true && { guardedFetch: guardedFetch(options.web) }),
    });
  }

  return {
    model: options.model,
    async check(metadata, place) {
      await choose(await settled(settingsIn(metadata), place));
    },
    async of(place) {
      const settings = await settled(settledIn(place.task)?.settings, place);
      const opened = seatFor(await choose(settings));
      // Nobody gives it up while it is waited for.
      using _waiting = held(opened);
      const seat = await opened.seat;
      const noted = { [WORKSPACE_KEY]: seat.root, ...(settings && { [SETTINGS_KEY]: settings }) };
      const state = { ...options.turnState, ...noted };
      return { seat, state, hold: () => held(opened) };
    },
    async close() {
      await Promise.allSettled([...seats.values()].map(async ({ seat }) => (await seat).close()));
    },
  };
}

interface Opened {
  readonly seat: Promise<Seat>;
  /** The same, once it is there. */
  ready: Seat | undefined;
  holds: number;
}

function openedSeat(seat: Promise<Seat>): Opened {
  const opened: Opened = { seat, ready: undefined, holds: 0 };
  seat.then(
    (ready) => (opened.ready = ready),
    () => {},
  );
  return opened;
}

function held(opened: Opened): Disposable {
  opened.holds++;
  return { [Symbol.dispose]: () => void opened.holds-- };
}

/** The settings that count in a task, and where they are: the first of its own or in a message of its user. */
export function settledIn(
  task: Task,
): { readonly settings: AgentSettings; readonly metadata: Metadata | undefined } | undefined {
  const said = messagesOf(task).filter(({ role }) => role === 'user');
  for (const { metadata } of [task, ...said]) {
    const settings = settingsIn(metadata);
    if (settings) return { settings, metadata };
  }
  return undefined;
}

function keyOf(place: SessionPlace): SessionKey {
  return { app: APP, user: userOf(place), id: place.contextId };
}

function refused(message: string): A2AError {
  return new A2AError('invalidParams', message);
}
