/** Approval modes and policy rules, as settings.json writes them. The descriptions are for the published JSON Schema. */
import * as z from 'zod';

export const ApprovalMode = z.enum(['ask', 'auto-edit', 'yolo', 'plan']);
export type ApprovalMode = z.infer<typeof ApprovalMode>;

export const PolicyDecision = z.enum(['allow', 'ask', 'deny']);
export type PolicyDecision = z.infer<typeof PolicyDecision>;

/** One rule. The last one that matches a call decides. */
export const PolicyRule = z.strictObject({
  tool: z
    .string()
    .min(1)
    .max(256)
    .describe(
      'The name of the tool; "*" stands for any characters: "run_shell_command", "git__*".',
    ),
  pattern: z
    .string()
    .max(4096)
    .optional()
    .describe(
      'For the shell the words a command begins with ("git status"), for tools with paths a glob under the workspace ("src/**"), for fetch_url a host. Absent: any call.',
    ),
  decision: PolicyDecision.describe('What becomes of a call that matches.'),
  workspace: z
    .string()
    .max(4096)
    .optional()
    .describe('The folder of the workspace in which the rule counts. Absent: in all.'),
});
export type PolicyRule = z.infer<typeof PolicyRule>;
