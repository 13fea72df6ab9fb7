/** The schema of settings.json. Editors show the descriptions, which are part of the published JSON Schema. */
import * as z from 'zod';
import { isLocalServer, PROVIDER_TYPES, RESERVED_PREFIXES } from '../../agent/providers/index.ts';
import { McpServers } from '../../protocol/development-tool/index.ts';
import { ApprovalMode, PolicyRule } from '../approval/rule.ts';

const Flag = z.boolean().optional();
const Url = z.url({ protocol: /^https?$/ }).max(2048);
const count = (max = Number.MAX_SAFE_INTEGER) => z.int().min(1).max(max).optional();
const text = (max: number) => z.string().min(1).max(max);
const oneOf = <const T extends readonly string[]>(values: T) => z.enum(values).optional();
const list = <T extends z.ZodType>(item: T, max: number) => z.array(item).max(max).optional();
const ModelName = text(256);

const Limits = z.strictObject({
  maxSteps: count(10_000).describe('Maximum number of model requests in one turn.'),
  maxTokens: count().describe(
    'Maximum number of tokens of one session, input and output together.',
  ),
  maxCostUsd: z
    .number()
    .positive()
    .optional()
    .describe('Maximum cost of one session, in US dollars.'),
  shellTimeoutMs: count(86_400_000).describe(
    'Default timeout of a shell command, in milliseconds.',
  ),
  maxCheckpoints: count(10_000).describe(
    'Maximum number of checkpoints. Older checkpoints are removed.',
  ),
  retentionDays: count(36_500).describe('How many days sessions and checkpoints are kept.'),
});

const HookFields = z.strictObject({
  tool: text(256)
    .optional()
    .describe('Only calls of this tool. "*" matches any characters. Default: every tool.'),
  command: text(4096).describe(
    'The command line. It gets JSON on standard input. Exit code 0: go on; 2: refuse, with the standard error as the reason; any other code: a warning.',
  ),
  timeoutMs: count(600_000).describe(
    'The time after which the command is stopped, in milliseconds. Default: 60000.',
  ),
  required: Flag.describe(
    'Refuse also if the command fails, times out or cannot be started. Default: false.',
  ),
});
/** A hook. A hook at the end of a turn has no `tool`. */
export type Hook = z.infer<typeof HookFields>;

const MAX_HOOKS = 50;
const Hooks = z.strictObject({
  beforeTool: list(HookFields, MAX_HOOKS).describe(
    'Hooks before a tool call. They run after the policy was checked, and before a person is asked.',
  ),
  afterTool: list(HookFields, MAX_HOOKS).describe(
    'Hooks after a tool call. With exit code 2, the model also gets the standard error.',
  ),
  afterTurn: list(HookFields.omit({ tool: true }), MAX_HOOKS).describe(
    'Hooks at the end of a turn. With exit code 2 after a completed turn, the agent continues, and gets the standard error as its next task.',
  ),
});

const Notify = z.strictObject({
  terminal: oneOf(['unfocused', 'always', 'off']).describe(
    'When the terminal rings its bell and shows a notification. unfocused (the default): only while the terminal does not have the focus.',
  ),
  url: Url.optional().describe(
    'The address to which notifications are posted, for example https://ntfy.sh/TOPIC.',
  ),
  format: oneOf(['ntfy', 'json']).describe(
    'ntfy (the default): text, with the title and the link in headers; json: an object.',
  ),
  headers: z
    .record(
      z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/),
      z
        .string()
        .regex(/^PARLEY_\w{1,120}$/, 'must be the name of an environment variable: PARLEY_…'),
    )
    .optional()
    .describe(
      'Headers of the posts: the name of each header, and the name of the environment variable that contains its value. The name of the variable must start with PARLEY_, because commands of the agent do not get such variables.',
    ),
  events: z
    .array(z.enum(['needs-you', 'done', 'failed']))
    .optional()
    .describe('The events that are posted. By default, all events.'),
  details: Flag.describe(
    'Also post the title of a call, which contains file names and commands. Default: false.',
  ),
});
export type NotifySettings = z.infer<typeof Notify>;

const ContextWindow = z
  .int()
  .min(256)
  .max(100_000_000)
  .describe('Size of the context window in tokens. By default, the server is asked.');

const Dollars = z.number().min(0).max(1_000_000);
const Price = z
  .strictObject({
    input: Dollars.describe('Per million input tokens.'),
    output: Dollars.describe('Per million output tokens.'),
    cached: Dollars.optional().describe(
      "Per million input tokens from the provider's cache. Default: the price of input tokens.",
    ),
  })
  .describe('Price in US dollars.');

const ProviderModel = z.strictObject({
  contextWindow: ContextWindow.optional(),
  price: Price.optional(),
});

const Provider = z.strictObject({
  type: oneOf(PROVIDER_TYPES).describe('The API of the provider. Default: openai-compatible.'),
  baseUrl: Url.refine((url) => !/^\w+:\/\/[^/]*@/.test(url), 'must not contain a password')
    .optional()
    .describe('The base URL with the API version, for example https://openrouter.ai/api/v1.'),
  apiKeyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w{0,127}$/, 'must be the name of an environment variable, not the key')
    .optional()
    .describe(
      "The name of the environment variable that contains the key. Commands of the agent do not get this variable. Only in the user's own settings.",
    ),
  contextWindow: ContextWindow.optional(),
  models: z
    .union([
      z
        .array(ModelName)
        .max(1000)
        .transform((names): Record<string, z.infer<typeof ProviderModel>> =>
          Object.fromEntries(names.map((name) => [name, {}])),
        ),
      z.record(ModelName, ProviderModel),
    ])
    .optional()
    .describe('Models to choose from: their names, or an object with the settings of each model.'),
});

const ProviderName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/i,
    'use at most 64 letters, digits and . _ -, and begin with a letter or a digit',
  )
  .refine((name) => !RESERVED_PREFIXES.has(name), 'this name is reserved; choose another name');

const Providers = z.record(ProviderName, Provider).check(({ value, issues }) => {
  for (const [name, { type = 'openai-compatible', baseUrl }] of Object.entries(value)) {
    if (baseUrl !== undefined || type !== 'openai-compatible' || isLocalServer(name)) continue;
    const message = 'required: the address of the server, for example http://127.0.0.1:8080/v1';
    issues.push({ code: 'custom', input: baseUrl, path: [name, 'baseUrl'], message });
  }
});

export const Settings = z.strictObject({
  $schema: z.string().optional().describe('The URL of this schema.'),
  model: ModelName.optional().describe(
    'The model, as on the command line: "google:NAME", "anthropic:NAME", "openai:NAME", "ollama:NAME", "PROVIDER:NAME", "offline".',
  ),
  providers: Providers.optional().describe(
    'Providers of models by name. Their models are called PROVIDER:NAME. A trusted workspace may add providers without a key.',
  ),
  webSearch: Flag.describe(
    "Whether the agent has the tool web_search, if the model's provider offers a search. The search sends the query to the provider of the model. Default: true.",
  ),
  approval: ApprovalMode.optional().describe(
    'ask: ask before file edits, network access, and commands that do more than read; auto-edit: the same, but edit files without asking; yolo: ask only if a rule may deny a call; plan: only read.',
  ),
  policy: list(PolicyRule, 1000).describe(
    'Rules that allow tool calls, deny them or ask about them. The last rule that matches decides.',
  ),
  mcpServers: McpServers.optional().describe(
    'MCP servers by name. Their tools are called SERVER__TOOL.',
  ),
  hooks: Hooks.optional().describe(
    'Commands that run before and after a tool call, and at the end of a turn.',
  ),
  sandbox: Flag.describe(
    "Run shell commands in the operating system's sandbox, as --sandbox does.",
  ),
  theme: text(64).optional().describe('Terminal colours: dark, light or none.'),
  limits: Limits.optional().describe('Limits of a session.'),
  notify: Notify.optional().describe(
    "Notifications that the agent needs you, or that a turn has ended. Only in the user's own settings; ignored in a workspace.",
  ),
});
export type Settings = z.infer<typeof Settings>;

/** Returns the JSON Schema (2020-12) that is published with the package. */
export function settingsJsonSchema(): Record<string, unknown> {
  return {
    title: 'Settings of Parley',
    description:
      'settings.json in ~/.config/parley (or $XDG_CONFIG_HOME/parley), and in .parley of a trusted workspace',
    ...z.toJSONSchema(Settings, { io: 'input' }),
  };
}
