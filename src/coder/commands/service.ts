/**
 * Slash commands for clients: lists the commands and runs a command as a task.
 *
 * If a message from any client starts with a slash and the name of a command, this command is run. If the command has
 * the function `prompt` or `content`, the model gets what this function returns. The output of any other command is the
 * answer of the turn. If such a command fails, the answer is the reason in one line. This reason is also the `error` of
 * the last event. The turn still completes, and the task still accepts messages.
 */
import { randomUUIDv7 } from 'node:crypto';
import {
  customAgent,
  type CustomAgentYield,
  contentText,
  type ContentPart,
  createRunner,
  type State,
} from '../../agent/index.ts';
import { BoundedMap, defined } from '../../base/index.ts';
import {
  EXTENSION_URI,
  extensionMetadata,
  type ExecuteSlashCommandRequest,
  type ExecuteSlashCommandResponse,
  type GetAllSlashCommandsRequest,
  type McpServers,
  type SlashCommand,
  type ToolCall,
  readStatus,
} from '../../protocol/development-tool/index.ts';
import { A2AError, type Call, type Message, type StreamEvent } from '../../protocol/index.ts';
import { callWith, type RequestHandler } from '../../tasks/index.ts';
import { CheckpointError } from '../checkpoints/checkpoints.ts';
import type { Workspace } from '../files/workspace.ts';
import { policyOf } from '../approval/guard.ts';
import { SHELL_TOOL } from '../approval/policy.ts';
import { mentionsIn, messageContext } from '../session/context.ts';
import { isQuoted } from '../approval/quoted.ts';
import { notices } from '../session/notices.ts';
import type { ToolCallRequest } from '../session/opening-calls.ts';
import { sessionOwner } from '../session/session-owner.ts';
import { APP, type WorkspaceAgent } from '../session/workspace-agent.ts';
import type { WorkspaceAgents } from '../session/workspace-agents.ts';
import { CommandError, toSlashCommand } from './command.ts';
import { parsePath, parseTyped } from './parse.ts';
import { loadCommands } from './registry.ts';

/** The result of the search for a command: the text that runs the command, or the reason why it cannot run. */
export type FoundCommand =
  | { readonly kind: 'command'; readonly text: string; readonly mayAsk: boolean }
  | { readonly kind: 'problem'; readonly problem: string };

/** The session or workspace whose commands a client requests. */
export interface CommandPlace extends GetAllSlashCommandsRequest {
  /** The MCP servers of the session's client. */
  readonly mcpServers?: McpServers | undefined;
}

/** Maximum number of mentioned resources that are read for one message. */
const MAX_RESOURCES = 8;
const MAX_TOLD = 1000;
const BESIDE_KEY = 'temp:coder.beside';
/**
 * Temporary session state for the run of a command. It marks a command that runs while a turn waits for an answer. Such
 * a command cannot ask a question itself.
 */
export const BESIDE = { [BESIDE_KEY]: true };

/** How the agent handles a message. */
export interface ReadMessage {
  /**
   * The agent that handles the message. If the message is a command without `prompt` and `content`, or a command that
   * cannot run, the `runner` of this agent is the runner for commands.
   */
  readonly agent: WorkspaceAgent;
  /** True if the message is not part of the conversation. */
  readonly aside: boolean;
  /** Calls to make before the model is called. */
  readonly opening: readonly ToolCallRequest[];
  /** Returns the content of the message and of the files that the message mentions. */
  readonly parts: (signal: AbortSignal, sender: MessageSender) => Promise<readonly ContentPart[]>;
}

/** The sender of a message. The sender determines which of the mentioned files are read. */
export interface MessageSender {
  /** The state of the session. */
  readonly state: State;
  /** Whether the sender may approve calls. */
  readonly mayApprove: boolean;
  /** The workspace from which the files are read. Default: the workspace on disk. */
  readonly files?: Workspace;
}

export type Commands = ReturnType<typeof createCommands>;
/** The functions that the APIs for clients use. */
export type CommandService = Pick<Commands, 'list' | 'execute'>;

interface CommandsOptions {
  readonly configFolder: string;
  readonly workspaces: Pick<WorkspaceAgents, 'sessions' | 'placeFor'>;
}

export function createCommands({ configFolder, workspaces }: CommandsOptions) {
  const { sessions } = workspaces;
  const runners = new WeakMap<WorkspaceAgent, WorkspaceAgent['runner']>();
  const listeners = new Set<() => void>();
  /** The problems of command files that the person was told about. */
  const told = new BoundedMap<true>(MAX_TOLD);
  let edition = 0;

  /**
   * Returns the workspace of a request. Returns undefined if the server has several workspaces and the request names
   * neither a workspace nor an existing session.
   */
  function placeOf({ contextId, workspace_path, mcpServers }: CommandPlace, call: Call) {
    const settings = defined({ workspace_path, mcpServers });
    return workspaces.placeFor(settings, sessionOwner(call, contextId));
  }

  /**
   * Finds the command of a request, and checks its arguments. Throws if the server has several workspaces and the
   * request names neither a workspace nor an existing session.
   */
  async function find(
    request: ExecuteSlashCommandRequest & CommandPlace,
    call: Call,
  ): Promise<FoundCommand> {
    const place = await placeOf(request, call);
    if (!place) {
      const why = 'this server has several workspaces';
      throw new A2AError('invalidParams', `contextId or workspace_path is required: ${why}`);
    }
    const { command_path, args } = request;
    const { folder, agent } = place;
    const commands = await commandsIn(folder, agent);
    const typed = parsePath(command_path, args, commands);
    if (typed.kind === 'problem') return typed;
    const text = `/${[...typed.path, typed.args].join(' ').trim()}`;
    return { kind: 'command', text, mayAsk: typed.command.asks?.(typed.args) === true };
  }

  /**
   * Loads the commands of a workspace. If the workspace's agent is open, notifies the person who runs the program once
   * about each problem with a file.
   */
  async function commandsIn(folder: string | undefined, agent: WorkspaceAgent | undefined) {
    const { commands, problems } = await loadCommands(configFolder, folder, agent?.mcp);
    for (const problem of problems) {
      if (!agent || told.get(problem)) continue;
      told.set(problem, true);
      agent.notify(notices.ignoredFile(problem));
    }
    return commands;
  }

  function runnerOf(agent: WorkspaceAgent): WorkspaceAgent['runner'] {
    let runner = runners.get(agent);
    if (!runner) runners.set(agent, (runner = makeRunner(agent)));
    return runner;
  }

  function makeRunner(agent: WorkspaceAgent): WorkspaceAgent['runner'] {
    const commandAgent = customAgent(
      { name: APP },
      async function* (run): AsyncGenerator<CustomAgentYield> {
        const commands = await commandsIn(agent.root, agent);
        const typed = parseTyped(contentText(run.input), commands);
        if (typed.kind !== 'command' || !typed.command.run) {
          yield failure(typed.kind === 'problem' ? typed.problem : GONE);
          return;
        }
        try {
          if (typed.command.asks?.(typed.args) === true && run.state.get(BESIDE_KEY) === true) {
            throw new CommandError(
              `/${typed.path.join(' ')} cannot ask its question while another question is open: answer the open question first.`,
            );
          }
          yield* typed.command.run(typed.args, { run, agent, configFolder, commands });
        } catch (error) {
          run.signal.throwIfAborted();
          if (!(error instanceof CommandError || error instanceof CheckpointError)) throw error;
          yield failure(error.message);
        }
      },
    );
    return createRunner({ agent: commandAgent, app: APP, sessions });
  }

  return {
    /** The version number of the commands. It increases when the prompts of an MCP server have changed. */
    get edition() {
      return edition;
    },
    /** Calls the listener after each change of the commands. Returns a function that removes the listener. */
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Notifies the listeners that the commands have changed. */
    changed() {
      edition++;
      for (const listener of listeners) listener();
    },

    /**
     * Returns the top-level commands with their subcommands. If the server has several workspaces and the request names
     * neither a workspace nor an existing session, the result contains no commands of a workspace.
     */
    async list(place: CommandPlace = {}, call: Call = {}): Promise<SlashCommand[]> {
      const found = await placeOf(place, call);
      return (await commandsIn(found?.folder, found?.agent)).map(toSlashCommand);
    },

    find,

    /**
     * Starts a command as a task. The response contains the task's id as `execution_id`. The task's events contain the
     * output. If the command cannot run, no task is started, and the response contains the reason. Throws if the server
     * has several workspaces and the request names neither a workspace nor an existing session.
     */
    async execute(request: ExecuteSlashCommandRequest, call: Call, handler: RequestHandler) {
      const found = await find(request, call);
      if (found.kind === 'problem') return notStarted(found.problem);
      const { contextId, workspace_path } = request;
      const message: Message = {
        kind: 'message',
        messageId: randomUUIDv7(),
        role: 'user',
        parts: [{ kind: 'text', text: found.text }],
        ...defined({ contextId }),
        ...(workspace_path !== undefined && { metadata: extensionMetadata({ workspace_path }) }),
      };
      const extensions = [...new Set([...(call.extensions ?? []), EXTENSION_URI])];
      const stream = await handler.streamMessage({ message }, callWith(call, { extensions }));
      try {
        return await beginning(stream, found.mayAsk);
      } finally {
        stream.close();
      }
    },

    async read(message: Message, agent: WorkspaceAgent): Promise<ReadMessage> {
      const [first, ...others] = message.parts;
      const said = async (
        parts: Message['parts'],
        shell: readonly string[] = [],
      ): Promise<ReadMessage> => ({
        agent,
        aside: false,
        opening: [...shell.map(shellCall), ...(await resourceCalls(parts, agent))],
        parts: (signal, sender) => withContext(parts, agent, signal, sender),
      });
      if (first?.kind !== 'text' || isQuoted(first) || !first.text.startsWith('/')) {
        return said(message.parts);
      }
      // Wait for the MCP server's prompts, because a prompt that is not known yet would be treated as text.
      const [, server] = /^\/([^\s/:]+):/.exec(first.text) ?? [];
      if (server !== undefined) await agent.mcp.awaitPrompts(server);
      const typed = parseTyped(first.text, await commandsIn(agent.root, agent));
      if (typed.kind === 'text') return said([{ ...first, text: typed.text }, ...others]);
      if (typed.kind === 'command' && typed.command.prompt) {
        const { text, shell } = typed.command.prompt(typed.args);
        return said([{ ...first, text }, ...others], shell);
      }
      const content = typed.kind === 'command' ? typed.command.content : undefined;
      if (typed.kind === 'command' && content) {
        const parts: ReadMessage['parts'] = async (signal, sender) => [
          ...(await content(typed.args, signal)),
          ...(await withContext(others, agent, signal, sender)),
        ];
        return { agent, aside: false, opening: [], parts };
      }
      return {
        agent: { ...agent, runner: runnerOf(agent) },
        aside: true,
        opening: [],
        parts: async () => [{ kind: 'text', text: first.text }],
      };
    },
  };
}

/** Returns the response for a command that cannot run. */
export function notStarted(message: string): ExecuteSlashCommandResponse {
  return { execution_id: '', status: 'FAILED_TO_START', message };
}

const GONE = 'The command no longer exists; /help lists the commands.';

/**
 * Returns the response for a started command. If the command may ask a question, waits until it asks, starts a call
 * without a question, or ends.
 */
export async function beginning(
  events: AsyncIterable<{ readonly event: StreamEvent }>,
  mayAsk: boolean,
): Promise<ExecuteSlashCommandResponse> {
  let execution_id = '';
  let asked: ToolCall | undefined;
  for await (const { event } of events) {
    execution_id ||= event.kind === 'task' ? event.id : (event.taskId ?? '');
    if (!mayAsk) break;
    if (event.kind !== 'status-update') continue;
    const call = readStatus(event).facts.find((fact) => fact.kind === 'call')?.call;
    if (call?.confirmation_request) asked = call;
    else if (call) break;
    if (event.status.state === 'input-required') {
      const shell = asked?.confirmation_request?.execute_details !== undefined;
      const status = shell ? 'AWAITING_SHELL_CONFIRMATION' : 'AWAITING_ACTION_CONFIRMATION';
      return { execution_id, status };
    }
  }
  return { execution_id, status: 'STARTED' };
}

function failure(text: string): CustomAgentYield {
  const content = { role: 'model', parts: [{ kind: 'text', text }] } as const;
  return { content, metadata: { problem: text } };
}

function shellCall(command: string): ToolCallRequest {
  return { name: SHELL_TOOL, args: { command } };
}

/** Returns the calls that read the MCP resources in the text. A text mentions a resource as `@SERVER:URI`. */
async function resourceCalls(
  parts: Message['parts'],
  { mcp }: WorkspaceAgent,
): Promise<ToolCallRequest[]> {
  const mentions = parts.flatMap((part) =>
    part.kind === 'text' && !isQuoted(part) ? mentionsIn(part.text) : [],
  );
  // This signal is never aborted. `resourceCall` has its own timeout for a slow server.
  const { signal } = new AbortController();
  const calls = mentions.slice(0, MAX_RESOURCES).map((each) => mcp.resourceCall(each, signal));
  return (await Promise.all(calls)).filter((call) => call !== undefined);
}

async function withContext(
  given: Message['parts'],
  { workspace, root, mode, loosest, savedRules }: WorkspaceAgent,
  signal: AbortSignal,
  { state, mayApprove, files = workspace }: MessageSender,
): Promise<ContentPart[]> {
  const guard = { root, mode, loosest, rules: savedRules.current() };
  const access = { policy: policyOf(guard, { get: (key) => state[key] }), mayApprove };
  const { parts, problems } = await messageContext(given, files, access, signal);
  return [...parts, ...problems.map((text): ContentPart => ({ kind: 'text', text: `[${text}]` }))];
}
