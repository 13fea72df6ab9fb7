/** What settings.json may say. The descriptions are for the published JSON Schema: editors show them. */
import * as z from 'zod';
import { McpServers } from '../../protocol/development-tool/index.ts';
import { ApprovalMode, PolicyRule } from '../approval/rule.ts';

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
