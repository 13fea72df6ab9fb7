/**
 * The agent of one workspace, with its tools, its policy and its checkpoints. Sessions in the same workspace with the
 * same settings share one agent.
 */
import { defined, type JsonObject } from '../../base/index.ts';
import { guardedFetch } from '../../base/net/index.ts';
import {
  llmAgent,
  type HookContext,
  type Model,
  type Plugin,
  createRunner,
  type SessionStore,
  isDelegatedSession,
  type Tool,
  type ToolContext,
} from '../../agent/index.ts';
import { resolveModel } from '../../agent/internal/index.ts';
import type { McpServers } from '../../protocol/development-tool/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { CheckpointError, openCheckpoints, type Checkpoints } from '../checkpoints/checkpoints.ts';
import { guarded, policyOf, type GuardOptions, type Modes } from '../approval/guard.ts';
import { fileFilter } from '../approval/policy.ts';
import { openHooks, type CoderHooks } from '../hooks/hooks.ts';
import { instructionFor } from './instruction.ts';
import type { FileChanges } from '../approval/file-changes.ts';
import { mcpFiles } from './mcp-files.ts';
import type { LoginPlace } from './mcp-logins.ts';
import { mcpSampling } from './mcp-sampling.ts';
import type { Editors } from './editors.ts';
import { mcpTools } from './mcp-tools.ts';
import { logNotices, notices, type Notify } from './notices.ts';
import { openingCalls } from './opening-calls.ts';
import { ownTools } from './own-tools.ts';
import { remoteHelpers } from './task-tool.ts';
import { pricesWith } from './prices.ts';
import { modelChoices, sessionModel } from './session-model.ts';
import { openSavedRules, type RuleChanges } from '../settings/saved-rules.ts';
import { noteCallUsage } from './usage.ts';
import type { Settings } from '../settings/schema.ts';
import { openSandbox } from '../shell/sandbox.ts';
import { openShell } from '../shell/shell.ts';
import type { ViewOf } from '../tools/define-tool.ts';
import type { CoderTool } from '../tools/tool.ts';
import { applyPatchTool } from '../tools/apply-patch.ts';
import { askUserTool } from '../tools/ask-user.ts';
import { editTool } from '../tools/edit.ts';
import { fetchUrlTool } from '../tools/fetch-url.ts';
import { globTool } from '../tools/glob.ts';
import { listDirectoryTool } from '../tools/list-directory.ts';
import { readFileTool } from '../tools/read-file.ts';
import { runShellCommandTool } from '../tools/run-shell-command.ts';
import { saveMemoryTool } from '../tools/save-memory.ts';
import { searchTool } from '../tools/search.ts';
import { shellJobsTool } from '../tools/shell-jobs.ts';
import { todoTool } from '../tools/todo.ts';
import { webSearchTool } from '../tools/web-search.ts';
import { writeFileTool } from '../tools/write-file.ts';
import type { FetchPageOptions } from '../web/fetch-page.ts';
import { withEditor } from '../files/editor-files.ts';
import { openWorkspace } from '../files/workspace.ts';

/** The name of the app that owns these sessions in a session store. */
export const APP = 'coder';

/** The options that all workspaces of a program have in common. */
export interface CommonOptions {
  readonly model: Model;
  /** Returns the model with this name, for sessions that select another model. Default: `resolveModel`. */
  readonly resolve?: (name: string) => Model;
  /** The names of other models, for lists of the models to choose from. */
  readonly models?: readonly string[];
  /**
   * Shows a notice to the person who runs the program, for example about a model or an MCP server. Default: writes it
   * to the log.
   */
  readonly notify?: Notify;
  /**
   * Whether the agent serves a live session, in which people type commands. If true, only tasks of live sessions are
   * resumed after a crash, and other tasks in the store stay as they are.
   */
  readonly onlyLive?: boolean;
  readonly sessions: SessionStore;
  readonly configFolder: string;
  readonly dataFolder: string;
  /** Creates the sealer that encrypts the logins to MCP servers. By default they are not encrypted. */
  readonly sealer?: LoginPlace['sealer'];
  /** Called when the slash commands have changed because the prompts of an MCP server have changed. Must not throw. */
  readonly commandsChanged?: () => void;
  /** Options for requests to addresses that a model or a client specifies. */
  readonly web?: FetchPageOptions;
  readonly logger: Logger;
}

export interface WorkspaceAgentOptions extends CommonOptions, Modes {
  /** The folder to work in. */
  readonly folder: string;
  readonly settings: Settings;
  readonly changes: FileChanges;
  /** The number of rules in `settings.policy` that come from the user's settings. These rules come first. */
  readonly userRules: number;
  readonly ruleChanges: RuleChanges;
  /** The number of rules in `ruleChanges.saved` that were saved before `settings` were read. */
  readonly knownRules: number;
  readonly editors: Editors;
  readonly sandbox: boolean;
  /** The MCP servers of a client, in addition to the servers in the settings. */
  readonly mcpServers?: McpServers;
  /** The `fetch` function for addresses that a client specifies. */
  readonly guardedFetch?: typeof fetch;
}

/** The agent of one workspace, ready to work. */
export type WorkspaceAgent = Awaited<ReturnType<typeof openWorkspaceAgent>>;

export async function openWorkspaceAgent(options: WorkspaceAgentOptions) {
  const { settings, model, mode, loosest, configFolder, dataFolder, logger } = options;
  const folders = [configFolder, dataFolder];
  const workspace = await openWorkspace([options.folder], { own: folders });
  const root = workspace.roots[0]!;
  const { notify = logNotices(logger), resolve = (name: string) => resolveModel(name) } = options;
  const sandbox = options.sandbox ? await openSandbox(root, folders) : undefined;
  const priceOf = pricesWith(settings.providers);
  const shell = openShell({ cwd: root, sandbox });

  let opened: Promise<Checkpoints | undefined> | undefined;
  function checkpoints(): Promise<Checkpoints | undefined> {
    const { maxCheckpoints: keep, retentionDays: keepDays } = settings.limits ?? {};
    const place = { workspace: root, dataFolder, keep, keepDays };
    return (opened ??= openCheckpoints(place).catch((error: unknown) => {
      if (!(error instanceof CheckpointError)) throw error;
      notify(notices.noCheckpoints(root, error.message));
      return undefined;
    }));
  }

  const savedRules = openSavedRules({
    configFolder,
    root,
    rules: settings.policy ?? [],
    userRules: options.userRules,
    changes: options.ruleChanges,
    known: options.knownRules,
  });
  const guard: GuardOptions = {
    root,
    agent: APP,
    changes: options.changes,
    realPath: (path) => workspace.realPath(path).catch(() => undefined),
    mode,
    loosest,
    get rules() {
      return savedRules.current();
    },
    saveRule: (rule) => savedRules.save(rule),
    filesOf: (name, args) => ofTool(name, (tool) => tool.files?.(args)),
    beforeChange: async (label, context) => {
      const taken = await checkpoints();
      if (!taken) return;
      try {
        await taken.take(label, placeOf(context), context.signal);
      } catch (error) {
        if (!(error instanceof CheckpointError)) throw error;
        notify(notices.checkpointFailed(label, error.message));
      }
    },
  };

  const viewOf: ViewOf = ({ state }) => {
    const files = options.editors.of(state)?.files;
    return files ? withEditor(workspace, files) : workspace;
  };
  const own: CoderTool[] = [
    readFileTool(workspace, viewOf),
    writeFileTool(workspace, viewOf),
    editTool(workspace, viewOf),
    applyPatchTool(workspace, viewOf),
    listDirectoryTool(workspace),
    globTool(workspace),
    searchTool(workspace),
    runShellCommandTool({
      shell,
      root,
      timeoutMs: settings.limits?.shellTimeoutMs,
      sandboxed: sandbox !== undefined,
      // If there is a sandbox, the editor's terminals are not used, because they are outside the sandbox.
      ...(!sandbox && { terminalsOf: ({ state }) => options.editors.of(state)?.terminals }),
    }),
    shellJobsTool(shell),
    fetchUrlTool(options.web),
    todoTool(),
    askUserTool(),
    saveMemoryTool(configFolder),
  ];
  const mcp = mcpTools(settings.mcpServers ?? {}, {
    guard,
    cwd: root,
    clients: options.mcpServers,
    guardedFetch: options.guardedFetch,
    sampling: (server) =>
      mcpSampling(server, {
        guard,
        modelOf: (state) => sessions.modelOf(state),
        failed: (err) => logger.warn({ err, server }, 'a sampling request of an MCP server failed'),
      }),
    log: (server, line) => logger.warn({ server, problem: line }, 'message of an MCP server'),
    notify,
    promptsChanged: options.commandsChanged,
    logins: { dataFolder, sealer: options.sealer, allowNetworks: options.web?.allowNetworks },
    saveFile: mcpFiles(dataFolder, (error) =>
      logger.warn({ err: error }, 'failed to save a file of an MCP server'),
    ),
  });
  mcp.connect();
  const hooks = openHooks({
    hooks: settings.hooks,
    agent: APP,
    cwd: root,
    sandbox,
    failed: (...failure) => notify(notices.hookFailed(...failure)),
    said: (...remark) => notify(notices.hookRemark(...remark)),
  });
  const basic = own.map((tool) => hooks.tool(guarded(tool, guard)));
  const search = webSearchTool({
    modelOf: (state) => sessions.modelOf(state),
    used: (used, usage, { callId, state }) => noteCallUsage(state, callId, used, usage),
    failed: (err) => logger.warn({ err }, 'a web search failed'),
  });
  const searchOf = (chosen: Model): Tool[] =>
    settings.webSearch !== false && chosen.searchesWeb === true
      ? [hooks.tool(guarded(search, guard))]
      : [];
  const mcpToolset = hooks.toolset(mcp);
  const instruction = async ({ state }: Pick<HookContext, 'state'>) =>
    instructionFor({
      workspace: root,
      configFolder,
      shows: fileFilter(policyOf(guard, state)),
      skills: await mine.skillsText(),
      servers: mcp.instructions(),
    });
  const mine = ownTools(
    {
      configFolder,
      root,
      instruction,
      tools: [...basic, mcpToolset],
      resolve,
      remote: remoteHelpers(guardedFetch({ allowNetworks: options.web?.allowNetworks })),
      guard,
      hooks,
      notify,
      isLive: options.onlyLive ?? false,
    },
    model,
  );
  // Reports problems with the files of helpers and skills now. If the files cannot be loaded, the first turn reports
  // the error.
  mine.load().catch(() => undefined);
  const sessions = sessionModel({
    model,
    limits: settings.limits,
    priceOf,
    resolve,
    agentWith: (chosen) =>
      llmAgent({
        name: APP,
        description: 'Reads, writes and runs code in a workspace.',
        model: chosen,
        instruction,
        // A helper uses the model of the session that it works for, unless the helper's file names another model.
        tools: [...basic, ...searchOf(chosen), mine.toolset(chosen), mcpToolset],
        compaction: { onFailure: (error) => notify(notices.compactionFailed(error)) },
        callbacks: openingCalls,
      }),
    afterTurn: ({ session, signal }, answer) => hooks.afterTurn(session, 'done', answer, signal),
  });
  if (settings.limits?.maxCostUsd !== undefined && !priceOf(model.name)) {
    notify(notices.noPrice(model.name));
  }
  const byName = new Map([...own, search, ...mine.plain].map((tool) => [tool.name, tool]));

  /**
   * Returns what `read` returns for a tool. Returns undefined if the tool is unknown, or if `read` throws because the
   * arguments are invalid.
   */
  function ofTool<T>(name: string, read: (tool: CoderTool) => T): T | undefined {
    const tool = byName.get(name);
    try {
      return tool && read(tool);
    } catch {
      // The tool reports the error when it is called.
      return undefined;
    }
  }

  return {
    root,
    mode,
    loosest,
    workspace,
    /**
     * Returns the workspace with the files as they are in the editor that started the turn. If there is no such editor,
     * returns the workspace on disk. The state contains the editor's id.
     */
    viewOf,
    model,
    /** The names of the models to choose from. */
    models: modelChoices(model, options.models),
    limits: settings.limits,
    priceOf,
    /** Returns the model with this name. Throws a ModelError if there is no such model. */
    resolve,
    notify,
    /** Returns the model of a session with this state. */
    modelOf: sessions.modelOf,
    runner: createRunner({
      agent: sessions.agent,
      app: APP,
      sessions: options.sessions,
      defaultModel: model,
      plugins: [changesPlugin(options.changes), endPlugin(hooks)],
      limits: defined({ steps: settings.limits?.maxSteps }),
    }),
    /**
     * The tools of a session that uses the workspace's model, except the tools in `own` and the tools of MCP servers.
     */
    tools: [...basic, ...searchOf(model)],
    /** The tools that depend on files: `task` with its helpers, and `skill`. */
    own: { ...mine.toolset(model), load: mine.load },
    mcp,
    /** The rules of the settings, with functions that save and remove rules. */
    savedRules,
    /** Returns the checkpoints, or undefined if they cannot be opened, for example because git is missing. */
    checkpoints,
    /**
     * Describes a call in one line, for people. Returns undefined for a tool of an MCP server or an unknown tool, and
     * if the arguments are invalid.
     */
    describe: (name: string, args: JsonObject) => ofTool(name, (tool) => tool.describe(args)),
    /** Returns whether a shell command is running in the background. */
    busy: () => shell.jobs().some((job) => job.outcome() === undefined),
    async close(): Promise<void> {
      await Promise.all([shell.close(), mcp.close(), opened?.then((taken) => taken?.close())]);
    },
  };
}

/**
 * Records the start of each run before its first model call. If another session changes a file after this start, the
 * run must read the file before it may change it.
 */
function changesPlugin(changes: FileChanges): Plugin {
  return {
    name: 'file-changes',
    beforeAgent: ({ session, runId }) => changes.begin({ session: session.id, runId }),
  };
}

/** Runs the hooks at the end of a turn that failed or was stopped. After a completed turn, `sessionModel` runs them. */
function endPlugin(hooks: CoderHooks): Plugin {
  return {
    name: 'end-of-turn',
    async afterRun(outcome, { session }) {
      if ((outcome !== 'failed' && outcome !== 'aborted') || isDelegatedSession(session)) return;
      const how = outcome === 'failed' ? 'failed' : 'stopped';
      // The run is over, so its signal cannot stop the hook. Only the hook's own timeout can.
      const { signal } = new AbortController();
      await hooks.afterTurn(session, how, undefined, signal).catch(() => undefined);
    },
  };
}

/** Returns the point in the conversation at which a checkpoint is taken. */
function placeOf({ session, runId, callId, agent }: ToolContext): JsonObject {
  return { session: session.id, runId, callId, agent };
}
