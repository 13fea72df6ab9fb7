/** The flags of the coding agent, for all commands that run it. This file does not load the agent. */
import type { ApprovalMode } from '../../coder/index.ts';
import { DATA_FOLDER_HELP, SECRET_KEY_VARIABLES } from '../program/folders.ts';
import { choice, listOption, option, toggle } from '../program/flags.ts';

/** The possible values of `--model`, as help texts list them. */
export const MODELS =
  'google:NAME, anthropic:NAME, openai:NAME, openai-compatible:NAME, ollama:NAME, lmstudio:NAME, vllm:NAME, offline, scripted:FILE, or PROVIDER:NAME, where PROVIDER is a provider in settings.json. parley models lists the models that can be reached.';

const MODES: readonly ApprovalMode[] = ['ask', 'auto-edit', 'yolo', 'plan'];

export const CODER_FLAGS = {
  workspace: listOption('DIR', 'A folder to work in; by default the current folder.'),
  model: option('M', `The model: ${MODELS}`),
  approval: choice(
    'MODE',
    MODES,
    'When to ask for approval. ask (the default): before file edits, network access, and commands that do more than read; auto-edit: the same, but not before file edits; yolo: only if a rule may deny a call; plan: never, because the agent may only read.',
  ),
  sandbox: toggle(
    'Run shell commands in bubblewrap, without network access. They can write only to the workspace, except its .git and .parley.',
  ),
} as const;

/** `--workspace` of a command that works in one folder. */
export const WORKSPACE_FLAG = {
  ...listOption('DIR', 'The folder to work in; by default the current folder.'),
  once: true,
} as const;

export const CONTINUE_FLAG = {
  ...toggle('Continue the last conversation in this folder.'),
  short: 'c',
} as const;
/** The error message if both --continue and --resume are given. */
export const CONTINUE_AND_RESUME =
  '--continue and --resume cannot be used together: use one of them';

export const SESSION_STORE_FLAG = option(
  'S',
  'Where to store sessions: memory, sqlite:PATH (in the file PATH.sessions), or postgres://USER:PASSWORD@HOST/DATABASE. By default in the data folder.',
);

/** Environment variables for all commands that run the coding agent. */
export const CODER_VARIABLES = {
  GEMINI_API_KEY:
    'API key for --model google:NAME. ANTHROPIC_API_KEY and OPENAI_API_KEY are for the other vendors. If neither --model nor settings.json names a model, Parley uses the first vendor whose key is set, in the order Google, Anthropic, OpenAI.',
  PARLEY_HOME: DATA_FOLDER_HELP,
  ...SECRET_KEY_VARIABLES,
  XDG_CONFIG_HOME: 'The folder that contains parley/settings.json; ~/.config by default.',
} as const;
