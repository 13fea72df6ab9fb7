/** The flags of the coding agent, for every command that runs it. Loads nothing of it. */
import type { ApprovalMode } from '../../coder/index.ts';
import { usageError } from '../program/exit.ts';

export const CODER_FLAGS = {
  workspace: {
    type: 'string',
    multiple: true,
    value: 'DIR',
    help: 'A folder to work in; the current one by default.',
  },
  model: {
    type: 'string',
    value: 'M',
    help: 'offline, scripted:FILE, google:NAME, anthropic:NAME, openai:NAME or openai-compatible:NAME.',
  },
  approval: {
    type: 'string',
    value: 'MODE',
    help: 'ask before changes (the default), auto-edit files, yolo: never ask, or plan: only read.',
  },
  sandbox: {
    type: 'boolean',
    help: 'Run shell commands in bubblewrap: no network, only the workspace can be written.',
  },
} as const;

/** Variables that all commands of the coding agent heed. */
export const CODER_VARIABLES = {
  GEMINI_API_KEY:
    'Key of --model google:…; ANTHROPIC_API_KEY and OPENAI_API_KEY likewise. The first that is set picks the model.',
  PARLEY_HOME: 'The data folder.',
  XDG_CONFIG_HOME: 'Where parley/settings.json is; ~/.config by default.',
} as const;

const MODES: readonly ApprovalMode[] = ['ask', 'auto-edit', 'yolo', 'plan'];

export function approvalMode(text: string | undefined): ApprovalMode | undefined {
  if (text === undefined) return undefined;
  const mode = MODES.find((each) => each === text);
  if (mode === undefined) throw usageError(`--approval ${text}: use one of ${MODES.join(', ')}`);
  return mode;
}
