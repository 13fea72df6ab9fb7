/**
 * Determines the workspace of each session, and manages the open workspace agents.
 *
 * A client may specify a workspace in the settings of its first message. The workspace must be inside one of the roots
 * that the operator has configured. If there is only one root, it is the default. If there are several roots, the
 * client has to specify a workspace. The session stores the workspace. A later message cannot change the settings,
 * because an approval could then be used to run the approved call in another workspace.
 *
 * A workspace agent stays open for the next turn. If too many agents are open, the least recently used idle agent is
 * closed.
 */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { State } from '../../agent/index.ts';
import { BoundedMap } from '../../base/index.ts';
import {
  EXTENSION_URI,
  settingsIn,
  type AgentSettings,
  type McpServers,
  messagesOf,
} from '../../protocol/development-tool/index.ts';
import { A2AError, type Message, type Metadata, type Task } from '../../protocol/index.ts';
import { sameJson } from '../../tasks/index.ts';
import { isInside } from '../files/path-rules.ts';
import { FileChanges } from '../approval/file-changes.ts';
import { Editors } from './editors.ts';
import { sessionKey, sessionName, type SessionOwner } from './session-owner.ts';
import { modelNames } from './session-status.ts';
import { openWorkspaceAgent, type CommonOptions, type WorkspaceAgent } from './workspace-agent.ts';
import type { ApprovalMode } from '../approval/rule.ts';
import type { RuleChanges } from '../settings/saved-rules.ts';
import { loadSettings } from '../settings/settings.ts';
import { isTrusted } from '../settings/trust.ts';
import { guardedFetch } from '../../base/net/index.ts';

/** Maximum number of agents that are open at the same time. */
const MAX_OPEN = 64;
/** The key of the client's settings in the session's state. */
export const SETTINGS_KEY = 'coder.settings';
/** Maximum size of a client's settings, in characters of JSON. */
const MAX_SETTINGS = 64 * 1024;
/** Maximum number of sessions whose first turn has not ended and whose settings are kept in memory. */
const MAX_CLAIMS = 1000;
/** The key of the workspace folder in the session's state. */
export const WORKSPACE_KEY = 'coder.workspace';

export interface WorkspaceAgentsOptions extends CommonOptions {
  /** The folders that clients may work in. */
  readonly roots: readonly string[];
  /** The initial approval mode of sessions without `autoExecute`. Default: the mode in the settings, or `ask`. */
  readonly mode?: ApprovalMode;
  /**
   * The most permissive mode that sessions may select. Default: yolo if clients may turn off approvals, or if the
   * initial mode is yolo. Otherwise auto-edit.
   */
  readonly loosest?: ApprovalMode;
  readonly sandbox?: boolean;
  /** Whether clients may specify programs and private addresses as MCP servers. */
  readonly allowClientMcp?: boolean;
  /** Whether clients may turn off approvals. */
  readonly allowAutoExecute?: boolean;
  /** State that is set at the start of every turn. It overrides the session's state. The value null removes a key. */
  readonly turnState?: State;
}

export type WorkspaceAgents = Awaited<ReturnType<typeof openWorkspaceAgents>>;

export interface AcquiredAgent {
  readonly agent: WorkspaceAgent;
  /** State that the session has to store, including its workspace and its settings. */
  readonly state: State;
  /** Keeps the agent open until the returned Disposable is disposed. */
  hold(): Disposable;
}

interface SettingsPlace {
  /** The task that the message is for. */
  readonly task?: Task | undefined;
  /**
   * Whether the operator created the task, as in a live session. The settings of such a task override the settings of
   * the session.
   */
  readonly isOwn?: boolean;
  /** Whether the settings belong to a new task that has no message yet. */
  readonly isReservation?: boolean;
}

interface Choice {
  readonly folder: string;
  readonly autoExecute: boolean;
  readonly mcpServers: McpServers;
}

export async function openWorkspaceAgents(options: WorkspaceAgentsOptions) {
  const roots = await Promise.all(options.roots.map((root) => realpath(root)));
  /** The open agents, least recently used first. */
  const agents = new Map<string, Opened>();
  const changes = new FileChanges();
  const editors = new Editors();
  const ruleChanges: RuleChanges = { saved: [], removed: new Set() };
  /** The settings of sessions whose first message was accepted, but whose first turn has not stored them yet. */
  const claims = new BoundedMap<AgentSettings>(MAX_CLAIMS);

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
    const folder = await realFolder(wanted);
    if (folder === undefined || !roots.some((root) => isInside(root, folder))) throw outside;
    if (!(await stat(folder)).isDirectory()) throw outside;
    return folder;
  }

  /** Returns the settings of the session, or undefined if no message has determined them yet. */
  async function sessionSettings(
    owner: SessionOwner,
    known?: State,
  ): Promise<AgentSettings | undefined> {
    const state = known ?? (await options.sessions.get(sessionKey(owner)))?.state;
    const stored = state?.[SETTINGS_KEY];
    if (stored !== undefined) return settingsIn({ [EXTENSION_URI]: stored });
    return state?.[WORKSPACE_KEY] === undefined ? claims.get(sessionName(owner)) : {};
  }

  /** Returns the settings of a task, or undefined if its first message will determine them. */
  async function settingsOf(
    task: Task,
    owner: SessionOwner,
    known?: State,
  ): Promise<AgentSettings | undefined> {
    const reserved = settingsIn(task.metadata);
    const [first] = userMessages(task);
    const begun = (await sessionSettings(owner, known)) ?? (first && settingsIn(first.metadata));
    return reserved ? { ...begun, ...reserved } : (begun ?? (first && {}));
  }

  /**
   * Throws if the client's settings differ from the settings in force. A setting that the client leaves out is not a
   * difference.
   */
  async function requireEqual(asked: AgentSettings | undefined, force: AgentSettings) {
    if (!asked) return;
    const different = await firstDifference(asked, force);
    if (different === undefined) return;
    throw refused(
      `${different}: differs from the setting of this session; settings can be chosen only in the first message of a session`,
    );
  }

  async function firstDifference(
    asked: AgentSettings,
    force: AgentSettings,
  ): Promise<keyof AgentSettings | undefined> {
    const { workspace_path, autoExecute, mcpServers } = asked;
    if (workspace_path !== undefined) {
      const [wanted, actual] = await Promise.all([
        realFolder(workspace_path),
        force.workspace_path === undefined ? roots[0] : realFolder(force.workspace_path),
      ]);
      if (wanted === undefined || wanted !== actual) return 'workspace_path';
    }
    if (autoExecute !== undefined && autoExecute !== (force.autoExecute ?? false)) {
      return 'autoExecute';
    }
    const sameServers = mcpServers === undefined || sameJson(mcpServers, force.mcpServers ?? {});
    return sameServers ? undefined : 'mcpServers';
  }

  /**
   * Returns the agent for these settings, and opens it if necessary. Sessions with the same settings share an agent.
   * Throws if too many other agents are in use.
   */
  function agentFor(choice: Choice): Opened {
    const name = nameOf(choice);
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
    const knownRules = ruleChanges.saved.length;
    const trusted = await isTrusted(configFolder, folder);
    const place = { configFolder, workspace: folder, trusted };
    const { settings, userRules, untrusted, ignored } = await loadSettings(place);
    // The program has already shown these warnings for the roots.
    if (untrusted !== undefined && !roots.includes(folder)) {
      logger.warn({ file: untrusted }, 'settings ignored: the workspace is not trusted');
    }
    for (const problem of roots.includes(folder) ? [] : ignored) {
      logger.warn({ problem }, 'a saved permission is ignored');
    }
    const mode = autoExecute ? 'yolo' : (options.mode ?? settings.approval ?? 'ask');
    return openWorkspaceAgent({
      ...options,
      changes,
      ruleChanges,
      knownRules,
      editors,
      folder,
      settings,
      userRules,
      mode,
      loosest:
        options.loosest ?? (options.allowAutoExecute || mode === 'yolo' ? 'yolo' : 'auto-edit'),
      sandbox: options.sandbox ?? settings.sandbox ?? false,
      mcpServers,
      // Clients that may start programs on this machine can reach every address anyway.
      guardedFetch: options.allowClientMcp
        ? undefined
        : guardedFetch({ allowNetworks: options.web?.allowNetworks }),
    });
  }

  return {
    model: options.model,
    modelNames: modelNames(options),
    editors,
    sessions: options.sessions,
    /**
     * Checks the settings in the metadata of a message or of a new task. The first message of a session determines the
     * settings. Throws `invalidParams` if the settings are invalid, or if a later message has other settings.
     */
    async check(metadata: Metadata | undefined, owner: SessionOwner, place: SettingsPlace = {}) {
      const { task, isOwn, isReservation } = place;
      const asked = settingsIn(metadata);
      if (asked && JSON.stringify(asked).length > MAX_SETTINGS) {
        throw refused(`AgentSettings: larger than ${MAX_SETTINGS / 1024} KB`);
      }
      const begun = await sessionSettings(owner);
      const reserved = settingsIn(task?.metadata);
      // After the client created this task, another task of the same session may have got other settings.
      if (begun && reserved && !isOwn) await requireEqual(reserved, begun);
      const force = task ? await settingsOf(task, owner) : begun;
      if (force) await requireEqual(asked, force);
      await choose(force ?? asked);
      if (begun || isReservation) return;
      // Another first message of the same session may have been accepted in the meantime.
      const claimed = claims.get(sessionName(owner));
      if (claimed) await requireEqual({ ...force, ...asked }, claimed);
      else claims.set(sessionName(owner), force ?? asked ?? {});
    },
    /**
     * Compares the settings of a task that has no message yet with the settings in this metadata. If they differ,
     * returns the workspace and `autoExecute` of the task. Returns undefined if they do not differ, if one of them is
     * missing, or if the task already has a message.
     */
    async overruling(metadata: Metadata | undefined, task: Task) {
      const own = settingsIn(task.metadata);
      const asked = settingsIn(metadata);
      if (!own || !asked || hasBegun(task)) return undefined;
      if ((await firstDifference(asked, own)) === undefined) return undefined;
      const { folder, autoExecute } = await choose(own);
      return { workspacePath: folder, autoExecute };
    },
    /**
     * Returns the folder of a session, and its agent if the agent is open. For a new session, returns the folder that
     * these settings select. Returns undefined if there are several folders and the client has to specify one. Throws
     * like `check`.
     */
    async placeFor(
      asked: AgentSettings,
      { contextId, ...owner }: Omit<SessionOwner, 'contextId'> & { contextId: string | undefined },
    ) {
      const begun =
        contextId === undefined ? undefined : await sessionSettings({ ...owner, contextId });
      if (begun) await requireEqual(asked, begun);
      const settings = begun ?? asked;
      if (settings.workspace_path === undefined && roots.length !== 1) return undefined;
      const choice = await choose(settings);
      return { folder: choice.folder, agent: agents.get(nameOf(choice))?.ready };
    },
    /**
     * Removes the settings of a session's first message from memory. Call this after the turn, when the session has
     * stored them.
     */
    release(owner: SessionOwner) {
      claims.delete(sessionName(owner));
    },
    /**
     * Returns the agent that works on a task. `known` is the state of the session. By default, the state is read from
     * the session store.
     */
    async acquire(
      place: SessionOwner & { readonly task: Task },
      known?: State,
    ): Promise<AcquiredAgent> {
      const settings = await settingsOf(place.task, place, known);
      const opened = agentFor(await choose(settings));
      // Keep the agent open until it is ready.
      using _waiting = held(opened);
      const agent = await opened.agent;
      const named = settings && Object.keys(settings).length > 0;
      const stored = { [WORKSPACE_KEY]: agent.root, ...(named && { [SETTINGS_KEY]: settings }) };
      return { agent, state: { ...options.turnState, ...stored }, hold: () => held(opened) };
    },
    /** Opens the agents of the roots, so that their problems are reported at the start. Never rejects. */
    async openRoots() {
      const opening = roots
        .slice(0, MAX_OPEN)
        .map(async (root) => agentFor(await choose({ workspace_path: root })).agent);
      await Promise.allSettled(opening);
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

/** Returns the key of the agent for these settings. */
function nameOf({ folder, autoExecute, mcpServers }: Choice): string {
  return JSON.stringify([folder, autoExecute, mcpServers]);
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

function userMessages(task: Task): Message[] {
  return messagesOf(task).filter(({ role }) => role === 'user');
}

/** Returns whether the task has received its first message. */
export function hasBegun(task: Task): boolean {
  return userMessages(task).length > 0;
}

function realFolder(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

function refused(message: string): A2AError {
  return new A2AError('invalidParams', message);
}
