/** The schema of settings.json. Editors show the descriptions, which are part of the published JSON Schema. */
import * as z from 'zod';
import { McpServers } from '../../protocol/development-tool/index.ts';
import { ApprovalMode, PolicyRule } from '../approval/rule.ts';

const Limits = z.strictObject({
  maxSteps: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('Maximum number of model requests in one turn.'),
  maxTokens: z
    .int()
    .min(1)
    .optional()
    .describe('Maximum number of tokens of one session, input and output together.'),
  maxCostUsd: z
    .number()
    .positive()
    .optional()
    .describe('Maximum cost of one session, in US dollars.'),
  shellTimeoutMs: z
    .int()
    .min(1)
    .max(86_400_000)
    .optional()
    .describe('Default timeout of a shell command, in milliseconds.'),
  maxCheckpoints: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('Maximum number of checkpoints. Older checkpoints are removed.'),
  retentionDays: z
    .int()
    .min(1)
    .max(36_500)
    .optional()
    .describe('How many days sessions and checkpoints are kept.'),
});

export const Settings = z.strictObject({
  $schema: z.string().optional().describe('The URL of this schema.'),
  model: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'The model, as on the command line: "google:NAME", "anthropic:NAME", "openai:NAME", "offline".',
    ),
  approval: ApprovalMode.optional().describe(
    'ask: ask before every change; auto-edit: edit files without asking; yolo: never ask; plan: only read.',
  ),
  policy: z
    .array(PolicyRule)
    .max(1000)
    .optional()
    .describe(
      'Rules that allow tool calls, deny them or ask about them. The last rule that matches decides.',
    ),
  mcpServers: McpServers.optional().describe(
    'MCP servers by name. Their tools are called SERVER__TOOL.',
  ),
  sandbox: z
    .boolean()
    .optional()
    .describe("Run shell commands in the operating system's sandbox, as --sandbox does."),
  theme: z.string().min(1).max(64).optional().describe('Terminal colours: dark, light or none.'),
  limits: Limits.optional().describe('Limits of a session.'),
});
export type Settings = z.infer<typeof Settings>;

/** Returns the JSON Schema (2020-12) that is published with the package. */
export function settingsJsonSchema(): Record<string, unknown> {
  return {
    title: 'Settings of Parley',
    description: 'settings.json in ~/.config/parley, and in .parley of a trusted workspace',
    ...z.toJSONSchema(Settings, { io: 'input' }),
  };
}
