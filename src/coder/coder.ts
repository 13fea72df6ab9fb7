/**
 * The coding agent, ready to be served:
 *
 *   const coder = await createCoder({ roots: ['/home/ann/project'], model, sessions, … });
 *   await serve(coder.agent).listen(41242);
 */
import { EXTENSION_URI } from '../protocol/development-tool/index.ts';
import type { Message, User } from '../protocol/index.ts';
import type { AgentProfile } from '../tasks/index.ts';
import { createCommands } from './commands/service.ts';
import { coderExecutor } from './turn/executor.ts';
import { requireMessageRoles, type MessageRules } from './turn/message-roles.ts';
import { openWorkspaceAgents, type WorkspaceAgentsOptions } from './session/workspace-agents.ts';

export interface CoderOptions extends WorkspaceAgentsOptions {
  /** Fields of the agent card that override the defaults. */
  readonly profile?: Partial<AgentProfile>;
  /** The approval modes that only the terminal of a live session may set. Default: none. */
  readonly terminalModes?: MessageRules['terminalModes'];
}

export type Coder = Awaited<ReturnType<typeof createCoder>>;

const PROFILE: AgentProfile = {
  name: 'Parley',
  description:
    'A coding agent: reads, writes and runs code in a workspace, and asks before it changes anything.',
  // The model gets images, PDF documents and text. Of any other file, it gets only the name and the size.
  inputModes: ['text/plain', 'application/json', 'image/*', 'application/pdf', '*/*'],
  skills: [
    {
      id: 'code_generation',
      name: 'Code Generation',
      description: 'Writes and changes code on request, runs commands, and explains what it finds.',
      tags: ['code', 'development', 'programming'],
      examples: ['Create hello.txt with a greeting', 'Why does the test of the parser fail?'],
    },
  ],
  extensions: [
    {
      uri: EXTENSION_URI,
      description: 'Tool calls, confirmations, thoughts and slash commands of a development task.',
      required: false,
    },
  ],
};

export async function createCoder(options: CoderOptions) {
  const commandsChanged = (): void => commands.changed();
  const workspaces = await openWorkspaceAgents({ ...options, commandsChanged });
  const commands = createCommands({ configFolder: options.configFolder, workspaces });
  const live = new Set<string>();
  const terminalModes = options.terminalModes ?? 'none';
  return {
    agent: coderExecutor({
      workspaces,
      commands,
      profile: { ...PROFILE, ...options.profile },
      logger: options.logger,
      isLive: (taskId) => live.has(taskId),
      onlyLive: options.onlyLive ?? false,
      terminalModes,
    }),
    workspaces,
    commands,
    /** Throws if the user may not send this message. The executor makes the same check. */
    requireRoles: (message: Message, user: User | undefined, isWaiting?: boolean) =>
      requireMessageRoles(message, user, { terminalModes }, isWaiting),
    /** The ids of the current tasks of live sessions (live/hub.ts). */
    live,
    /** Stops all background work. Close the server before you call this, and close the session store afterwards. */
    close: () => workspaces.close(),
  };
}
