/**
 * The message for a tool call that was denied because there was no person to ask. It explains how to allow the call.
 */
import {
  decide,
  grantFrom,
  patchPaths,
  rulesFrom,
  type ApprovalMode,
  type PolicyRule,
  type Preview,
} from '../../coder/index.ts';
import { userSettingsFile } from '../../coder/settings/index.ts';
import { hasOption, type ToolCall } from '../../protocol/development-tool/index.ts';
import { configFolder } from '../program/folders.ts';
import type { Environment } from '../program/flags.ts';
import { word } from '../program/terminal.ts';

/** The mode and the rules that determined that the call needs an approval. */
export interface DenialPolicy {
  readonly mode: ApprovalMode;
  /** The folder of the workspace. */
  readonly root: string;
  /** The rules of the settings. */
  readonly rules: readonly PolicyRule[];
}

const EDIT_TOOLS: ReadonlySet<string> = new Set(['write_file', 'edit', 'apply_patch']);
/** The modes that the message may suggest, the stricter one first. */
const SUGGESTED = ['auto-edit', 'yolo'] as const;
/** The option that saves the narrowest permission. A request has this option only if the permission allows the call. */
const SAVE = 'proceed_always_and_save';

export function denialOf(call: ToolCall, policy: DenialPolicy, environment: Environment): string {
  const what = word(call.description ?? '');
  const named = what === '' ? call.tool_name : `${call.tool_name} (${what})`;
  const ways = [...flagFor(call, policy), ...ruleFor(call, policy, environment)];
  const next = ways.length === 0 ? '' : `: allow it with ${ways.join(' or ')}`;
  return `${named} was denied, because there is no person to ask${next}`;
}

/** Returns the least permissive flag that allows the call, if there is one. */
function flagFor(call: ToolCall, policy: DenialPolicy): string[] {
  const mode = SUGGESTED.find((each) => each !== policy.mode && isAllowed(call, each, policy));
  return mode === undefined ? [] : [`--approval ${mode}`];
}

/** Returns whether the rules allow the call without an approval in this mode. Ignores the session's permissions. */
function isAllowed(call: ToolCall, mode: ApprovalMode, { root, rules }: DenialPolicy): boolean {
  const { tool_name: name, input_parameters: args } = call;
  const effect = EDIT_TOOLS.has(name) ? 'edit' : 'execute';
  const policy = { mode, root, ...rulesFrom(rules) };
  const tool = { name, effect } as const;
  return decide(policy, tool, args, previewOf(call), patchedBy(call)).decision === 'allow';
}

/**
 * Returns the files that a call of `apply_patch` changes. Reads them from the patch, because the details of the call
 * contain only one file, and no old path of a moved file.
 */
function patchedBy({ tool_name: name, input_parameters: { patch } }: ToolCall): string[] {
  if (name !== 'apply_patch' || typeof patch !== 'string') return [];
  try {
    return patchPaths(patch);
  } catch {
    // A remote helper may have a tool with the same name, whose `patch` has another format.
    return [];
  }
}

/** Returns the setting that allows the call in this workspace, if there is one. */
function ruleFor(
  call: ToolCall,
  { root: workspace }: DenialPolicy,
  environment: Environment,
): string[] {
  if (!hasOption(call, SAVE)) return [];
  const { tool_name: name, input_parameters: args } = call;
  const tool = { name, effect: 'edit' as const };
  const rules = grantFrom(SAVE, { tool, args, preview: previewOf(call), root: workspace });
  if (rules.length === 0) return [];
  const file = userSettingsFile(configFolder(environment));
  const settings = rules.map((rule) => JSON.stringify({ ...rule, workspace }));
  return [`"policy": [${settings.join(', ')}] in ${file}`];
}

function previewOf({ confirmation_request: request, description = '' }: ToolCall): Preview {
  const { file_edit_details: diff, mcp_details: mcp, execute_details: execute } = request ?? {};
  if (diff) return { kind: 'edit', diffs: [diff] };
  if (mcp) return { kind: 'mcp', server: mcp.server_name, tool: mcp.tool_name };
  if (execute) {
    const { command, working_directory = '' } = execute;
    return { kind: 'execute', command, workingDirectory: working_directory };
  }
  return { kind: 'generic', description };
}
