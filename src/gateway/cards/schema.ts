/** The schemas of model cards. A model card has a model's name, capabilities, price and providers. */
import * as z from 'zod';
import { pageOf, PageQuery } from '../api/fields.ts';

export const MAX_SLUG_CHARS = 128;
const MAX_NAME_CHARS = 256;
const MAX_DESCRIPTION_CHARS = 4096;
/** Maximum price per token. It is high enough for every currency, and low enough to detect typing errors. */
const MAX_PRICE_PER_TOKEN = 1_000_000;

/** The model's name in addresses and in `metadata.model`. */
export const Slug = z
  .string()
  .min(1)
  .max(MAX_SLUG_CHARS)
  .regex(
    /^[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?$/i,
    'letters and digits, with . _ - : / between them',
  );

/**
 * A name must not contain lone surrogates, because SQLite cannot store them. It must not contain line breaks either,
 * because they would break lists.
 */
const Name = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'text without control characters')
  .regex(/\S/, 'must not be blank');

const Description = z
  .string()
  .max(MAX_DESCRIPTION_CHARS)
  .regex(/^[^\0\p{Cs}]*$/u, 'text without NUL');

const Price = z
  .number('a number, per token')
  .min(0, 'must not be negative')
  .max(MAX_PRICE_PER_TOKEN);

export const Pricing = z.looseObject({
  inputPricePerToken: Price,
  outputPricePerToken: Price,
  /** The price of input tokens from the vendor's cache. Default: inputPricePerToken. */
  cachedInputPricePerToken: Price.optional(),
  currency: z
    .string('three capital letters, as in USD')
    .regex(/^[A-Z]{3}$/, 'three capital letters, as in USD'),
});
export type Pricing = Readonly<z.infer<typeof Pricing>>;

export const Capability = z.looseObject({
  type: Name.max(64),
  enabled: z.boolean(),
});

/**
 * The limits of a model. They are fields of a model card, and of a model in the configuration. The gateway enforces
 * them in models/admission.ts.
 */
export const modelLimits = {
  inputs: z
    .array(z.enum(['text', 'image', 'audio', 'video', 'pdf', 'file']))
    .min(1)
    .max(6)
    .optional()
    .describe(
      'What the model accepts. `file` is any other file. Text is always accepted. Default: what its providers accept',
    ),
  contextWindow: z
    .int()
    .min(1)
    .optional()
    .describe('Maximum number of tokens of a prompt. A longer prompt is refused'),
  maxOutputTokens: z
    .int()
    .min(1)
    .optional()
    .describe(
      'Maximum number of tokens of an answer. A request with a higher limit, or without a limit, gets this limit',
    ),
};

/** One provider that serves the model. */
export const CardRoute = z.looseObject({
  /** The name of a configured provider. */
  provider: Name,
  /** The provider's name for the model. Default: the card's `model`, then its `name`. */
  model: Name.optional(),
  /**
   * The route's share of the requests. A route with weight 0 is used only if the other routes fail, or if all weights
   * are 0.
   */
  weight: z.number().min(0).max(1000).default(1),
});

export const CardContent = z
  .looseObject({
    schemaVersion: z.literal('1.0', 'must be "1.0", the only version that this gateway supports'),
    name: Name,
    /**
     * The provider that serves the model. Default: all configured providers that list `model`, or that list `name` if
     * there is no `model`.
     */
    provider: Name.optional(),
    model: Name.optional(),
    /** Several providers with weights, instead of `provider`. If one provider fails, the next one is tried. */
    routes: z.array(CardRoute).min(1).max(16).optional(),
    capabilities: z
      .array(Capability)
      .max(64)
      .superRefine((capabilities, context) => {
        const seen = new Set<string>();
        for (const [at, { type }] of capabilities.entries()) {
          if (seen.has(type)) {
            const message = `the capability "${type}" is listed twice`;
            context.addIssue({ code: 'custom', path: [at, 'type'], message });
          }
          seen.add(type);
        }
      })
      .default([]),
    pricing: Pricing.optional(),
    ...modelLimits,
  })
  .refine(({ provider, routes }) => provider === undefined || routes === undefined, {
    path: ['routes'],
    message: 'a card has either a provider or routes, not both',
  });
export type CardContent = Readonly<z.infer<typeof CardContent>>;

/**
 * The body of a request that creates or replaces a card. Other fields of a card (`id`, `version`, timestamps) are
 * ignored, so that a client can send a card back as it was read.
 */
export const CardInput = z.object({
  /** Id of the workspace, which must be the caller's own. */
  workspaceId: z.string().optional(),
  name: Name,
  /** Slug of the card. If undefined, a new card gets a slug from its name, and an existing card keeps its slug. */
  slug: Slug.optional(),
  description: Description.default(''),
  card: CardContent,
});
export type CardInput = Readonly<z.infer<typeof CardInput>>;

/** A model card in responses. */
export const ModelCard = z.object({
  id: z.string(),
  workspaceId: z.string(),
  name: Name,
  slug: Slug,
  description: z.string(),
  card: CardContent,
  /** Version number, which increases by one with every update and restore. It is used as the ETag. */
  version: z.int().min(1),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  /** Time of the deletion. Present only on deleted cards. */
  deletedAt: z.iso.datetime().optional(),
});
export type ModelCard = Readonly<z.infer<typeof ModelCard>>;

/** One version of a card. */
export const CardVersion = z.object({
  ...ModelCard.omit({ id: true, workspaceId: true, updatedAt: true, deletedAt: true }).shape,
  /** The author: `key:ID` or `oidc:SUBJECT`. */
  createdBy: z.string(),
});
export type CardVersion = Readonly<z.infer<typeof CardVersion>>;

export const SORTS = ['name', 'slug', 'createdAt', 'updatedAt'] as const;
export type Sort = (typeof SORTS)[number];

export const CardQuery = PageQuery.extend({
  /** Id of the workspace, which must be the caller's own. */
  workspace_id: z.string().optional(),
  /** Words or parts of words. Each of them must occur in the name, the slug or the description. Case is ignored. */
  q: z.string().max(200).optional(),
  slug: z.string().max(MAX_SLUG_CHARS).optional(),
  /** The provider of the card or of one of its routes. */
  provider: z.string().max(MAX_NAME_CHARS).optional(),
  /** The type of an enabled capability. */
  capability: z.string().max(MAX_NAME_CHARS).optional(),
  /**
   * Sort order. A leading `-` means descending. In the default order, new cards come last, so that they do not change
   * earlier pages.
   */
  sort: z
    .enum(
      SORTS.flatMap((sort) => [sort, `-${sort}`] as const),
      `one of ${SORTS.join(', ')}, with a leading - for descending`,
    )
    .default('createdAt'),
  include_deleted: z.enum(['true', 'false'], 'true or false').default('false'),
});
export type CardQuery = Readonly<z.infer<typeof CardQuery>>;

export const CardPage = pageOf(ModelCard);
export const CardVersionPage = pageOf(CardVersion);
