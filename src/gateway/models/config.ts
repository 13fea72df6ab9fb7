/**
 * The configuration of models: the providers (`providers`), the model names for all workspaces (`models`), and the
 * default model (`defaultModel`).
 *
 *   "providers": { "east": { "type": "openai", "apiKey": "${EAST_KEY}", "models": ["gpt-6.1-sol"] } },
 *   "models": { "fast": { "routes": [{ "provider": "east", "model": "gpt-6.1-sol" }, { "provider": "west" }] } },
 *   "defaultModel": "fast"
 */
import * as z from 'zod';
import { Capability, CardRoute, modelLimits, Pricing, Slug } from '../cards/schema.ts';
import { integer } from '../api/fields.ts';
import { WebAddress } from '../api/web-address.ts';
import { calledName } from './model-name.ts';

const MAX_NAMES = 1000;
const MAX_MS = 24 * 60 * 60 * 1000;

const ModelName = z.string().min(1).max(256);
const ProviderName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/i,
    'at most 64 letters, digits and . _ -, starting with a letter or digit',
  );
const Milliseconds = integer(1, MAX_MS);
const ModelNames = z.array(ModelName).max(MAX_NAMES).optional();

const Circuit = z
  .strictObject({
    failures: integer(1, 1000)
      .default(5)
      .describe(
        'Number of consecutive failed calls of a workspace that open the circuit for this workspace',
      ),
    windowMs: Milliseconds.default(60_000).describe(
      'Failures that are older than this do not count',
    ),
    openMs: Milliseconds.default(30_000).describe('How long the circuit stays open'),
  })
  .describe(
    'The circuit breaker of each model. While it is open, the provider is not called for this model',
  );

export const ProviderConfig = z
  .strictObject({
    type: z
      .enum(['openai', 'anthropic', 'google', 'openai-compatible', 'offline', 'scripted'])
      .describe('The API of the provider'),
    apiKey: z
      .string()
      .min(1)
      .optional()
      .describe("The API key. Default if there is no baseUrl: the vendor's environment variable"),
    baseUrl: WebAddress.optional().describe(
      "The base URL with the API version, such as https://example.com/v1. Default: the vendor's address",
    ),
    file: z.string().min(1).optional().describe('The script file of a scripted provider'),
    models: ModelNames.describe('The chat models of the provider'),
    embeddingModels: ModelNames.describe('The embedding models of the provider'),
    timeoutMs: Milliseconds.default(600_000).describe('Timeout for a whole answer'),
    firstByteMs: Milliseconds.default(120_000).describe('Timeout until the answer starts'),
    idleTimeoutMs: Milliseconds.default(120_000).describe(
      'Timeout between two chunks of an answer',
    ),
    usageWaitMs: integer(0, 60_000)
      .default(10_000)
      .describe(
        'How long the gateway continues to read an answer after its caller has left, to learn the usage. 0: not at all. Not used with maxConcurrent',
      ),
    attempts: integer(1, 10)
      .default(2)
      .describe('Number of attempts before the next provider is tried'),
    maxConcurrent: integer(1, 100_000)
      .optional()
      .describe(
        'Maximum number of concurrent calls, shared fairly between workspaces. Further calls wait, or use another provider',
      ),
    circuit: Circuit.prefault({}),
  })
  .superRefine(({ type, baseUrl, file, models = [], embeddingModels = [] }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    for (const [path, names] of Object.entries({ models, embeddingModels })) {
      const wrong = names.find((name) => calledName(type, name) === undefined);
      if (wrong !== undefined)
        refuse(
          path,
          `a ${type} provider cannot have a model with the name ${JSON.stringify(wrong)}`,
        );
    }
    if (type === 'openai-compatible' && baseUrl === undefined) {
      refuse('baseUrl', 'required for an openai-compatible provider');
    }
    if ((type === 'scripted') !== (file !== undefined)) {
      refuse('file', 'required for a scripted provider, and not allowed for other providers');
    }
  });
export type ProviderConfig = Readonly<z.infer<typeof ProviderConfig>>;

export const ProvidersConfig = z
  .record(ProviderName, ProviderConfig)
  .describe('Providers of models, by a name of your choice');
export type ProvidersConfig = Readonly<z.infer<typeof ProvidersConfig>>;

const OperatorModel = z
  .strictObject({
    provider: ProviderName.optional(),
    model: ModelName.optional().describe(
      "The provider's name for the model. Default: the name of this entry",
    ),
    routes: z
      .array(z.strictObject(CardRoute.shape))
      .min(1)
      .max(16)
      .optional()
      .describe('Several providers with weights. If one provider fails, the next one is tried'),
    pricing: Pricing.optional(),
    capabilities: z.array(Capability).max(64).default([]),
    ...modelLimits,
  })
  .refine(({ provider, routes }) => (provider === undefined) !== (routes === undefined), {
    path: ['routes'],
    message: 'a model has either a provider or routes',
  });

export const ModelsConfig = z
  .record(Slug, OperatorModel)
  .describe(
    'Models for all workspaces, by the name that callers use. A model card with the same slug takes precedence',
  );
export type ModelsConfig = Readonly<z.infer<typeof ModelsConfig>>;

export const DefaultModel = ModelName.describe(
  'The model for tasks that do not specify a model. Default: if the configuration has exactly one provider that is not offline or scripted, the first model of this provider. Otherwise offline',
);

export const ModelDeadlineSeconds = z
  .number()
  .min(1)
  .max(MAX_MS / 1000)
  .describe('Timeout for an answer, including all attempts with all providers. Default: 900');

/** The part of the configuration that `createModels` reads. */
export interface ModelSettings {
  readonly providers?: ProvidersConfig | undefined;
  readonly models?: ModelsConfig | undefined;
  readonly defaultModel?: string | undefined;
  readonly modelDeadlineSeconds?: number | undefined;
}
