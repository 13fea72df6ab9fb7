/**
 * Determines the workspace of each session, and manages the open workspace agents.
 *
 * A client may specify a workspace in the settings of its first message. The workspace must be inside one of the roots
 * that the operator has configured. The session stores the workspace. A session without settings works in the only
 * root. If there are several roots, the client has to specify a workspace.
 *
 * A workspace agent stays open for the next turn. If too many agents are open, the least recently used idle agent is
 * closed.
 */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Model, SessionStore, State } from '../../agent/index.ts';
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
import { APP, openWorkspaceAgent, type WorkspaceAgent } from './workspace-agent.ts';
import type { ApprovalMode } from '../approval/rule.ts';
import { loadSettings } from '../settings/settings.ts';
import { isTrusted } from '../settings/trust.ts';
import { userOf } from '../../bridge/index.ts';
import { guardedFetch } from '../web/guarded-fetch.ts';
import type { FetchPageOptions } from '../web/fetch-page.ts';

/** Maximum number of agents that are open at the same time. */
const MAX_OPEN = 64;
/** The key of the client's settings in the session's state. */
const SETTINGS_KEY = 'coder.settings';
/** The key of the workspace folder in the session's state. */
export const WORKSPACE_KEY = 'coder.workspace';

export interface WorkspaceAgentsOptions {
  /** The folders that clients may work in. */
  readonly roots: readonly string[];
  readonly model: Model;
  /** The initial approval mode. Default: the mode in the settings, or `ask`. */
  readonly mode?: ApprovalMode;
  /**
   * The most permissive mode that sessions may select. Default: auto-edit, or yolo if clients may turn off approvals or
   * the initial mode is yolo.
   */
  readonly loosest?: ApprovalMode;
  readonly sandbox?: boolean;
  readonly sessions: SessionStore;
  readonly configFolder: string;
  readonly dataFolder: string;
  /** Whether clients may specify programs and private addresses as MCP servers. */
  readonly allowClientMcp?: boolean;
  /** Whether clients may turn off approvals. */
  readonly allowAutoExecute?: boolean;
  /** State that is set at the start of every turn. It overrides the session's state. The value null removes a key. */
  readonly turnState?: State;
  /** Options for requests to addresses that a model or a client specifies. */
  readonly web?: FetchPageOptions;
  readonly logger: Logger;
}

export interface WorkspaceAgents {
  readonly model: Model;
  readonly sessions: SessionStore;
  /** Checks the settings in the metadata of a message or a task. Throws if they are invalid. */
  check(metadata: Metadata | undefined, session: SessionOwner): Promise<void>;
  /**
   * Returns the agent that works on a task. `state` is the state of the session. If it is not given, it is read from
   * the session store when needed.
   */
  acquire(
    task: SessionOwner & Pick<ExecutionContext, 'task'>,
    state?: State,
  ): Promise<AcquiredAgent>;
  close(): Promise<void>;
}

export interface AcquiredAgent {
  readonly agent: WorkspaceAgent;
  /** State that the session has to store, including its workspace and its settings. */
  readonly state: State;
  /** Keeps the agent open until the returned Disposable is disposed. */
  hold(): Disposable;
}

/** Identifies a session. */
export type SessionOwner = Pick<RequestContext, 'user' | 'tenant' | 'contextId'>;

interface Choice {
  readonly folder: string;
  readonly autoExecute: boolean;
  readonly mcpServers: McpServers;
}

export async function openWorkspaceAgents(
  options: WorkspaceAgentsOptions,
): Promise<WorkspaceAgents> {
  const roots = await Promise.all(options.roots.map((root) => realpath(root)));
  /** The open agents, least recently used first. */
  const agents = new Map<string, Opened>();
  const changes = new FileChanges();

  async function choose(settings: AgentSettings | undefined): Promise<Choice> {
    const { workspace_path, autoExecute = false, mcpServers = {} } = settings ?? {};
    if (autoExecute && options.allowAutoExecute !== true) {
      throw refused(
        'autoExecute: not allowed, because this server was started without --allow-auto-execute',
      );
    }
    if (autoExecute && (options.loosest ?? 'yolo') !== 'yolo') {
      throw refused(
        `autoExecute: not allowed, because this server was started with --approval ${options.loosest}`,
      );
    }
    for (const [name, { command }] of Object.entries(mcpServers)) {
      if (command === undefined || options.allowClientMcp === true) continue;
      throw refused(
        `mcpServers.${name}: this server does not start programs for clients, because it was started without --allow-client-mcp`,
      );
    }
    return { folder: await folderOf(workspace_path), autoExecute, mcpServers };
  }

  async function folderOf(wanted: string | undefined): Promise<string> {
    if (wanted === undefined) {
      if (roots.length === 1) return roots[0]!;
      throw refused('workspace_path is required: this server has several workspaces');
    }
    const outside = refused('workspace_path: must be a folder inside a workspace of this server');
    if (!isAbsolute(wanted) || wanted.includes('\0')) throw outside;
    const folder = await realpath(wanted).catch(() => undefined);
    if (folder === undefined || !roots.some((root) => isInside(root, folder))) throw outside;
    if (!(await stat(folder)).isDirectory()) throw outside;
    return folder;
  }

  /** Returns the settings that the session stored earlier. */
  async function storedSettings(
    owner: SessionOwner,
    known?: State,
  ): Promise<AgentSettings | undefined> {
    const key = { app: APP, user: userOf(owner), id: owner.contextId };
    const state = known ?? (await options.sessions.get(key))?.state;
    const stored = state?.[SETTINGS_KEY];
    return stored === undefined ? undefined : settingsIn({ [EXTENSION_URI]: stored });
  }

  /** Returns the agent for a choice, and opens it if necessary. Sessions with the same choice share an agent. */
  function agentFor(choice: Choice): Opened {
    const name = JSON.stringify([choice.folder, choice.autoExecute, choice.mcpServers]);
    let opened = agents.get(name);
    if (opened) agents.delete(name);
    else {
      if (agents.size >= MAX_OPEN) closeOne();
      opened = asOpened(open(choice));
      // If opening fails, the entry is removed, so that the next caller tries again.
      opened.agent.catch(() => agents.delete(name));
    }
    agents.set(name, opened);
    return opened;
  }

  function closeOne(): void {
    for (const [name, { holds, ready }] of agents) {
      if (holds > 0 || !ready || ready.busy()) continue;
      agents.delete(name);
      ready.close().catch((error: unknown) => {
        options.logger.warn({ workspace: ready.root, err: error }, 'failed to close a workspace');
      });
      return;
    }
    throw new A2AError('unavailable', 'Too many workspaces are in use');
  }

  async function open({ folder, autoExecute, mcpServers }: Choice): Promise<WorkspaceAgent> {
    const { configFolder, logger } = options;
    const trusted = await isTrusted(configFolder, folder);
    const { settings, untrusted } = await loadSettings({
      configFolder,
      workspace: folder,
      trusted,
    });
    if (untrusted !== undefined) {
      logger.warn({ file: untrusted }, 'settings ignored: the workspace is not trusted');
    }
    const mode = autoExecute ? 'yolo' : (options.mode ?? settings.approval ?? 'ask');
    return openWorkspaceAgent({
      ...options,
      changes,
      folder,
      settings,
      mode,
      loosest:
        options.loosest ?? (options.allowAutoExecute || mode === 'yolo' ? 'yolo' : 'auto-edit'),
      sandbox: options.sandbox ?? settings.sandbox ?? false,
      mcpServers,
      // Clients that may start programs on this machine can reach every address anyway.
      ...(options.allowClientMcp !== true && { guardedFetch: guardedFetch(options.web) }),
    });
  }

  return {
    model: options.model,
    sessions: options.sessions,
    async check(metadata, owner) {
      await choose(settingsIn(metadata) ?? (await storedSettings(owner)));
    },
    async acquire(place, known) {
      const own = settledIn(place.task)?.settings;
      const settings = own ?? (await storedSettings(place, known));
      const opened = agentFor(await choose(settings));
      // Keep the agent open until it is ready.
      using _waiting = held(opened);
      const agent = await opened.agent;
      const stored = { [WORKSPACE_KEY]: agent.root, ...(settings && { [SETTINGS_KEY]: settings }) };
      return { agent, state: { ...options.turnState, ...stored }, hold: () => held(opened) };
    },
    async close() {
      const closing = [...agents.values()].map(async ({ agent }) => (await agent).close());
      await Promise.allSettled(closing);
    },
  };
}

interface Opened {
  readonly agent: Promise<WorkspaceAgent>;
  /** The agent, after it has been opened. */
  ready: WorkspaceAgent | undefined;
  holds: number;
}

function asOpened(agent: Promise<WorkspaceAgent>): Opened {
  const opened: Opened = { agent, ready: undefined, holds: 0 };
  agent.then(
    (ready) => (opened.ready = ready),
    () => {},
  );
  return opened;
}

function held(opened: Opened): Disposable {
  opened.holds++;
  return { [Symbol.dispose]: () => void opened.holds-- };
}

/**
 * Returns the settings of a task and the metadata that contains them. Looks in the task's own metadata first, then in
 * its user messages from the first one on.
 */
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

function refused(message: string): A2AError {
  return new A2AError('invalidParams', message);
}
