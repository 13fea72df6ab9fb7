/**
 * The message for a tool call that was denied because there was no person to ask. It explains how to allow the call.
 */
import { grantFrom, type ApprovalMode, type Preview } from '../../coder/index.ts';
import { userSettingsFile } from '../../coder/settings/index.ts';
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import { configFolder } from '../program/config-folder.ts';
import type { Environment } from '../program/flags.ts';
import { word } from '../program/terminal.ts';

export function denialOf(
  call: ToolCall,
  mode: ApprovalMode,
  root: string,
  environment: Environment,
): string {
  const what = word(call.description ?? '');
  const named = what === '' ? call.tool_name : `${call.tool_name} (${what})`;
  const ways = [...flagFor(call, mode), ...ruleFor(call, root, environment)];
  const next = ways.length === 0 ? '' : `: allow it with ${ways.join(' or ')}`;
  return `${named} was denied, because there is no person to ask${next}`;
}

/** Returns the least permissive flag that allows the call, if there is one. */
function flagFor({ confirmation_request }: ToolCall, mode: ApprovalMode): string[] {
  const edit = confirmation_request?.file_edit_details !== undefined;
  if (edit && mode === 'ask') return ['--approval auto-edit'];
  return mode === 'yolo' ? [] : ['--approval yolo'];
}

function ruleFor(call: ToolCall, root: string, environment: Environment): string[] {
  const tool = { name: call.tool_name, effect: 'edit' as const };
  const preview = previewOf(call);
  const args = call.input_parameters;
  const rules = grantFrom('proceed_always', { tool, args, preview, root });
  if (rules.length === 0) return [];
  const file = userSettingsFile(configFolder(environment));
  return [`"policy": [${rules.map((rule) => JSON.stringify(rule)).join(', ')}] in ${file}`];
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
