/**
 * The built-in commands. The longer ones have their own files.
 *
 * /helpers and /skills do not list problems with the files of the user and the workspace, because every client can run
 * these two commands. The person who runs the program gets a notice about each problem.
 */
import type { Tool } from '../../agent/index.ts';
import { compact, runScopeOf } from '../../agent/internal/index.ts';
import { approvalLine, approvalsIn } from '../approval/approvals.ts';
import type { McpOverview } from '../session/mcp-tools.ts';
import { notices } from '../session/notices.ts';
import { APP } from '../session/workspace-agent.ts';
import { TODO_KEY } from '../tools/todo.ts';
import { approvalCommand } from './approval.ts';
import { commandSyntax, CommandError, type CoderCommand } from './command.ts';
import { promptCommandName } from './mcp-prompts.ts';
import { memoryCommand } from './memory.ts';
import { modelCommand } from './model.ts';
import { permissionsCommand } from './permissions.ts';
import { restoreCommand } from './restore.ts';
import { statsCommand } from './stats.ts';

const helpCommand: CoderCommand = {
  name: 'help',
  description: 'Lists the commands.',
  async *run(_args, { commands }) {
    yield commands.flatMap((command) => linesOf([command.name], command)).join('\n');
    yield '\n\nTo send the model a message that starts with the name of a command, write two slashes before the name.';
  },
};

function linesOf(path: readonly string[], command: CoderCommand): string[] {
  const own =
    (command.run ?? command.prompt ?? command.content)
      ? [`${commandSyntax(path, command)}: ${command.description}`]
      : [];
  const below = (command.subCommands ?? []).flatMap((each) => linesOf([...path, each.name], each));
  return [...own, ...below];
}

const INIT_PROMPT = `Write AGENTS.md in the root of this workspace: what an agent, or a new colleague, has to know to work \
here.

Look around first: the README, the manifest and its scripts, the layout of folders, the configuration of tests, linters \
and CI, a few typical source files. If there is an AGENTS.md, GEMINI.md or CLAUDE.md, keep its correct parts.

Then write, in at most a page: what the project is, in two sentences; how to build, test and check it, with the exact \
commands; how the code is laid out; the conventions that are not obvious from any single file. Write only what you \
have seen, without guesses and platitudes.`;

const initCommand: CoderCommand = {
  name: 'init',
  description:
    'Inspects the workspace and writes AGENTS.md, which the agent reads in every conversation.',
  prompt: (args) => ({ text: args === '' ? INIT_PROMPT : `${INIT_PROMPT}\n\n${args}`, shell: [] }),
};

const compressCommand: CoderCommand = {
  name: 'compress',
  description: 'Replaces the conversation with a summary that the model writes.',
  async *run(_args, { agent, run }) {
    const model = agent.modelOf((key) => run.state.get(key));
    const { runId, branch } = run;
    const view = { agent: APP, runId, branch, include: 'default', model: model.name } as const;
    const made = await compact(runScopeOf(run), model, view, {
      atTokens: 0,
      keepEvents: 0,
      onFailure: (error) => agent.notify(notices.compactionFailed(error)),
    });
    if (made === 'failed')
      throw new CommandError('The model returned no summary; try again later.');
    if (!made) {
      yield 'The conversation is too short for a summary.';
      return;
    }
    yield made;
    yield `A summary of ${made.actions.compaction?.summary.length ?? 0} characters replaces the conversation.`;
  },
};

/** Files, the session's mode and model, and its usage stay unchanged. */
const clearCommand: CoderCommand = {
  name: 'clear',
  description: 'Starts a new conversation: the model no longer sees the earlier messages.',
  async *run(_args, { run }) {
    run.state.set(TODO_KEY, null);
    yield {
      content: {
        role: 'model',
        parts: [{ kind: 'text', text: 'A new conversation starts here.' }],
      },
      actions: { rewind: { to: null } },
    };
  },
};

const toolsCommand: CoderCommand = {
  name: 'tools',
  description: 'Lists the tools that the model can call.',
  async *run(_args, { agent, run }) {
    const sets = await Promise.all([agent.own, agent.mcp].map((set) => set.tools(run.signal)));
    const tools = [...agent.tools, ...sets.flat()];
    yield tools.map(lineOf).join('\n');
  },
};

/** Returns a tool's name and the first sentence of its description. */
function lineOf({ name, description }: Tool): string {
  const [sentence = ''] = description.split(/(?<=\.)\s|\n/, 1);
  return `${name}: ${sentence}`;
}

/** Maximum number of resources of a server in the list. */
const MAX_RESOURCES = 50;

const mcpCommand: CoderCommand = {
  name: 'mcp',
  description: 'Lists the MCP servers with their state, tools, prompts and resources.',
  async *run(_args, { agent, run }) {
    const servers = await agent.mcp.overview(run.signal);
    yield servers.map(describeServer).join('\n') || 'There are no MCP servers in the settings.';
  },
};

function describeServer({ name, tools, prompts, resources, problem }: McpOverview): string {
  if (problem !== undefined) return `${name}: not available (${problem})`;
  const more = resources.length - MAX_RESOURCES;
  return [
    `${name}: ready, ${tools.length} tools`,
    ...tools.map((tool) => `  ${lineOf(tool)}`),
    ...prompts.map((prompt) => `  /${promptCommandName(name, prompt.name)}: ${prompt.description}`),
    ...resources.slice(0, MAX_RESOURCES).map((each) => `  @${name}:${each.uri}: ${each.name}`),
    ...(more > 0 ? [`  and ${more} more resources`] : []),
  ].join('\n');
}

const helpersCommand: CoderCommand = {
  name: 'helpers',
  description: 'Lists the helpers that the model can call.',
  async *run(_args, { agent }) {
    const { helpers } = await agent.own.load();
    const lines = [...helpers.values()].map((helper) => {
      const { name, description, source, kind } = helper;
      const more =
        kind === 'remote' ? 'a remote agent' : `tools: ${helper.tools?.join(', ') ?? 'all'}`;
      return `${name} (${source}, ${more}): ${description}`;
    });
    yield lines.join('\n') || 'There are no helpers. docs/terminal.md says how to add one.';
  },
};

const skillsCommand: CoderCommand = {
  name: 'skills',
  description: 'Lists the skills that the model can read.',
  async *run(_args, { agent }) {
    const { skills } = await agent.own.load();
    const lines = [...skills.values()].map(({ name, description }) => `${name}: ${description}`);
    yield lines.join('\n') || 'There are no skills. docs/terminal.md says how to add one.';
  },
};

/** Maximum number of listed approvals. `parley export` prints all of them. */
const MAX_LISTED = 100;

const approvalsCommand: CoderCommand = {
  name: 'approvals',
  description: 'Lists who allowed or rejected which call in this session, from where and when.',
  async *run(_args, { run }) {
    const all = approvalsIn(run.events);
    if (all.length === 0) {
      yield 'No call has needed an approval in this session yet.';
      return;
    }
    const shown = all.slice(-MAX_LISTED);
    const left = all.length - shown.length;
    if (left > 0) yield `${left} earlier approvals are not shown; parley export prints them.\n`;
    // The list is a code block, because Markdown could hide a part of a call. No text in a line can end the code block.
    yield ['```', ...shown.map(approvalLine), '```'].join('\n');
  },
};

export const BUILT_IN: readonly CoderCommand[] = [
  helpCommand,
  initCommand,
  memoryCommand,
  restoreCommand,
  compressCommand,
  clearCommand,
  toolsCommand,
  mcpCommand,
  helpersCommand,
  skillsCommand,
  modelCommand,
  approvalCommand,
  approvalsCommand,
  permissionsCommand,
  statsCommand,
];
