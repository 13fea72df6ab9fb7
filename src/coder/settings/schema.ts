/** What settings.json may say. The descriptions are for the published JSON Schema: editors show them. */
import * as z from 'zod';
import { McpServers } from '../../protocol/development-tool.ts';

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

const Limits = z.strictObject({
  maxSteps: z.int().min(1).max(10_000).optional().describe('Requests to the model in one turn.'),
  maxTokens: z.int().min(1).optional().describe('Tokens of one session, in and out.'),
  maxCostUsd: z
    .number()
    .positive()
    .optional()
    .describe('What one session may cost, in US dollars.'),
  shellTimeoutMs: z
    .int()
    .min(1)
    .max(86_400_000)
    .optional()
    .describe('For a shell command that does not name its own.'),
  maxCheckpoints: z.int().min(1).max(10_000).optional().describe('Older ones are removed.'),
  retentionDays: z
    .int()
    .min(1)
    .max(36_500)
    .optional()
    .describe('How long sessions and checkpoints are kept.'),
});

export const Settings = z.strictObject({
  $schema: z.string().optional().describe('The address of this schema.'),
  model: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('As on the command line: "google:NAME", "anthropic:NAME", "openai:NAME", "offline".'),
  approval: ApprovalMode.optional().describe(
    'ask: before every change; auto-edit: files are edited without asking; yolo: nothing is asked; plan: read only.',
  ),
  policy: z
    .array(PolicyRule)
    .max(1000)
    .optional()
    .describe(
      'Which calls are allowed, asked about or denied. The last rule that matches decides.',
    ),
  mcpServers: McpServers.optional().describe('MCP servers by name; their tools are SERVER__TOOL.'),
  sandbox: z.boolean().optional().describe('Run shell commands in the sandbox of the system.'),
  theme: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Colours of the terminal: dark, light or none.'),
  limits: Limits.optional().describe('Where to stop.'),
});
export type Settings = z.infer<typeof Settings>;

/** The JSON Schema (2020-12) that is published with the package. */
export function settingsJsonSchema(): Record<string, unknown> {
  return {
    title: 'Settings of Parley',
    description: 'settings.json in ~/.config/parley, and in .parley of a trusted workspace',
    ...z.toJSONSchema(Settings, { io: 'input' }),
  };
}
