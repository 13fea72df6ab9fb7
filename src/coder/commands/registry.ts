/** All commands: those that come with the program, then the user's own, none of which takes the place of another. */
import { isTrusted } from '../settings/trust.ts';
import { approvalCommand } from './approval.ts';
import { clearCommand } from './clear.ts';
import type { CoderCommand } from './command.ts';
import { compressCommand } from './compress.ts';
import { loadFileCommands, toCommands } from './file-commands.ts';
import { helpCommand } from './help.ts';
import { initCommand } from './init.ts';
import { mcpCommand } from './mcp.ts';
import { memoryCommand } from './memory.ts';
import { modelCommand } from './model.ts';
import { restoreCommand } from './restore.ts';
import { statsCommand } from './stats.ts';
import { toolsCommand } from './tools.ts';

const BUILT_IN: readonly CoderCommand[] = [
  helpCommand,
  initCommand,
  memoryCommand,
  restoreCommand,
  compressCommand,
  clearCommand,
  toolsCommand,
  mcpCommand,
  modelCommand,
  approvalCommand,
  statsCommand,
];

export interface CommandsPlace {
  readonly configFolder: string;
  /** Undefined: which one is not known, and only the user's commands count. */
  readonly workspace: string | undefined;
}

/** The files are read each time: they may have changed, and so may the trust in the workspace. */
export async function loadCommands({
  configFolder,
  workspace,
}: CommandsPlace): Promise<CoderCommand[]> {
  const trusted = workspace !== undefined && (await isTrusted(configFolder, workspace));
  const place = { configFolder, workspace: workspace ?? configFolder, trusted };
  const { commands } = await loadFileCommands(place);
  const taken = new Set(BUILT_IN.map(({ name }) => name));
  const own = commands.filter(({ path }) => !taken.has(path[0] ?? ''));
  return [...BUILT_IN, ...toCommands(own)];
}
