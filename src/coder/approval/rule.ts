/** Approval modes and policy rules as in settings.json. The descriptions appear in the published JSON Schema. */
import * as z from 'zod';

export const ApprovalMode = z.enum(['ask', 'auto-edit', 'yolo', 'plan']);
export type ApprovalMode = z.infer<typeof ApprovalMode>;

export const PolicyDecision = z.enum(['allow', 'ask', 'deny']);
export type PolicyDecision = z.infer<typeof PolicyDecision>;

/** A policy rule. The last rule that matches a call decides. For permissions, see verdict.ts. */
export const PolicyRule = z.strictObject({
  tool: z
    .string()
    .min(1)
    .max(256)
    .describe(
      'The name of the tool, for example "run_shell_command". "*" matches any characters, as in "git__*".',
    ),
  pattern: z
    .string()
    .max(4096)
    .optional()
    .describe(
      'For the shell: the first words of a command ("git status"). For tools with paths: a glob relative to the workspace ("src/**"); a rule for read_file also applies to the results of search, glob and list_directory. For fetch_url: a host ("*.example.com"). For task: the name of a helper. Default: every call matches.',
    ),
  decision: PolicyDecision.describe('The decision about a call that matches.'),
  workspace: z
    .string()
    .max(4096)
    .optional()
    .describe(
      'The folder of the workspace in which the rule applies. Default: every workspace. A rule with this field and the decision "allow" is a permission. "Always allow" saves such rules. A permission does not override a rule that denies.',
    ),
});
export type PolicyRule = z.infer<typeof PolicyRule>;
