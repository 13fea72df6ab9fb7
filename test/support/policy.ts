/** Calls and rules for the tests of the policy. */
import path from 'node:path';
import type { JsonObject } from '../../src/base/index.ts';
import { decide, rulesFrom, type Subject, type Verdict } from '../../src/coder/approval/policy.ts';
import type { ApprovalMode, PolicyRule } from '../../src/coder/approval/rule.ts';
import type { Effect, Preview } from '../../src/coder/tools/tool.ts';

export const ROOT = '/project/space';

export function tool(name: string, effect: Effect): Subject {
  return { name, effect };
}

export const SHELL = tool('run_shell_command', 'execute');
export const READ = tool('read_file', 'read');
export const WRITE = tool('write_file', 'edit');
export const FETCH = tool('fetch_url', 'network');
export const MEMORY = tool('save_memory', 'memory');
export const TODO = tool('todo', 'talk');
export const MCP = tool('github__search', 'network');

export function rule(decision: PolicyRule['decision'], name: string, pattern?: string): PolicyRule {
  return { tool: name, decision, ...(pattern !== undefined && { pattern }) };
}

export function shellRule(decision: PolicyRule['decision'], pattern?: string): PolicyRule {
  return rule(decision, 'run_shell_command', pattern);
}

export function editOf(...files: string[]): Preview {
  const diffs = files.map((file) => ({
    file_name: path.basename(file),
    file_path: path.join(ROOT, file),
    new_content: 'x',
  }));
  return { kind: 'edit', diffs, modifiable: files.length === 1 };
}

export function verdict(
  rules: readonly PolicyRule[],
  subject: Subject,
  args: JsonObject = {},
  more: {
    mode?: ApprovalMode;
    preview?: Preview;
    root?: string;
    readsOnly?: boolean;
    /** What people allowed with "Always allow" in the session. */
    grants?: readonly PolicyRule[];
  } = {},
): Verdict {
  const { mode = 'ask', preview, root = ROOT, readsOnly, grants } = more;
  const policy = { mode, root, ...rulesFrom(rules, grants) };
  return decide(policy, subject, args, preview, [], readsOnly);
}

export function shell(
  rules: readonly PolicyRule[],
  command: string,
  mode: ApprovalMode = 'ask',
): string {
  return verdict(rules, SHELL, { command }, { mode }).decision;
}
