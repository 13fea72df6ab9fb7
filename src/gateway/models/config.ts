/**
 * The operator's part of the configuration that is about models: where they are served (`providers`), under which names
 * everybody may use them (`models`), and which one is meant when nobody says.
 *
 *   "providers": { "east": { "type": "openai", "apiKey": "${EAST_KEY}", "models": ["gpt-6.1-sol"] } },
 *   "models": { "fast": { "routes": [{ "provider": "east", "model": "gpt-6.1-sol" }, { "provider": "west" }] } },
 *   "defaultModel": "fast"
 */
import * as z from 'zod';
import { Capability, CardRoute, Pricing, Slug } from '../cards/schema.ts';
import { WebAddress } from '../api/web-address.ts';

const MAX_NAMES = 1000;
const MAX_MS = 24 * 60 * 60 * 1000;

const ModelName = z.string().min(1).max(256);
const ProviderName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/i, 'letters, digits and . _ - between them, at most 64');
const Milliseconds = z.int().min(1).max(MAX_MS);

const Circuit = z
  .strictObject({
    failures: z.int().min(1).max(1000).default(5).describe('Failures in a row that open it'),
    windowMs: Milliseconds.default(60_000).describe('Older failures are forgotten'),
    openMs: Milliseconds.default(30_000).describe('How long the provider is left alone then'),
  })
  .describe('When a provider that fails is left alone for a while');

export const ProviderConfig = z
  .strictObject({
    type: z
      .enum(['openai', 'anthropic', 'google', 'openai-compatible', 'offline', 'scripted'])
      .describe('Which API is spoken there'),
    apiKey: z
      .string()
      .min(1)
      .optional()
      .describe("The key. Without it and without a baseUrl, the vendor's environment variable"),
    baseUrl: WebAddress.optional().describe(
      "The address of the API, with its version: https://example.com/v1. Else the vendor's own",
    ),
    file: z.string().min(1).optional().describe('The script of a scripted provider'),
    models: z.array(ModelName).max(MAX_NAMES).optional().describe('Models that are served there'),
    embeddingModels: z
      .array(ModelName)
      .max(MAX_NAMES)
      .optional()
      .describe('Models for embeddings that are served there'),
    timeoutMs: Milliseconds.default(600_000).describe('For a whole answer'),
    firstByteMs: Milliseconds.default(120_000).describe('Until the answer begins'),
    idleTimeoutMs: Milliseconds.default(120_000).describe('The longest silence in an answer'),
    attempts: z
      .int()
      .min(1)
      .max(10)
      .default(2)
      .describe('How often to ask before the next provider is asked'),
    maxConcurrent: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('Answers under way at a time; the others wait, or go elsewhere'),
    circuit: Circuit.prefault({}),
  })
  .superRefine(({ type, baseUrl, file }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (type === 'openai-compatible' && baseUrl === undefined) {
      refuse('baseUrl', 'an openai-compatible provider needs its address');
    }
    if ((type === 'scripted') !== (file !== undefined)) {
      refuse('file', 'a scripted provider, and no other, has a file');
    }
  });
export type ProviderConfig = Readonly<z.infer<typeof ProviderConfig>>;

export const ProvidersConfig = z
  .record(ProviderName, ProviderConfig)
  .describe('Where models are served, by a name of your choice');
export type ProvidersConfig = Readonly<z.infer<typeof ProvidersConfig>>;

const OperatorModel = z
  .strictObject({
    provider: ProviderName.optional(),
    model: ModelName.optional().describe('What the provider calls it. Else the name here'),
    routes: z
      .array(z.strictObject(CardRoute.shape))
      .min(1)
      .max(16)
      .optional()
      .describe('Several places, by weight; each is tried when another fails'),
    pricing: Pricing.optional(),
    capabilities: z.array(Capability).max(64).default([]),
  })
  .refine(({ provider, routes }) => (provider === undefined) !== (routes === undefined), {
    path: ['routes'],
    message: 'a model has either a provider or routes',
  });

export const ModelsConfig = z
  .record(Slug, OperatorModel)
  .describe(
    'Models for every workspace, by the name that callers use. A card of the same slug goes before',
  );
export type ModelsConfig = Readonly<z.infer<typeof ModelsConfig>>;

export const DefaultModel = ModelName.describe(
  'The model of tasks that name none. offline unless told',
);

export const ModelDeadlineSeconds = z
  .number()
  .min(1)
  .max(MAX_MS / 1000)
  .describe('For the whole of an answer, whichever providers are asked for it. 900');

/** What `createModels` takes: the configuration has more, which is not looked at. */
export interface ModelSettings {
  readonly providers?: ProvidersConfig | undefined;
  readonly models?: ModelsConfig | undefined;
  readonly defaultModel?: string | undefined;
  readonly modelDeadlineSeconds?: number | undefined;
}
