/** A model card: what a model is called, what it can do, what it costs, and where it leads. */
import * as z from 'zod';
import { pageOf, PageQuery } from '../api/page.ts';

export const MAX_SLUG_CHARS = 128;
const MAX_NAME_CHARS = 256;
const MAX_DESCRIPTION_CHARS = 4096;
/** Dear enough for every currency, and a slip of the keyboard is still seen. */
const MAX_PRICE_PER_TOKEN = 1_000_000;

/** As it stands in addresses and in `metadata.model`. */
export const Slug = z
  .string()
  .min(1)
  .max(MAX_SLUG_CHARS)
  .regex(/^[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?$/i, 'letters, digits and . _ - : / between them');

/** Half a surrogate pair could not be kept as it is; a line break in a name would be a trap in every list. */
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
  /** For input that came from the vendor's cache; else it costs as much as other input. */
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

/** One place where the model is served. */
export const CardRoute = z.looseObject({
  /** A configured provider. */
  provider: Name,
  /** What the provider calls the model; else the card's `model`, else its `name`. */
  model: Name.optional(),
  /** Its share of the requests, among the routes. 0: only when the others fail. */
  weight: z.number().min(0).max(1000).default(1),
});

export const CardContent = z
  .looseObject({
    schemaVersion: z.literal('1.0', 'this gateway knows schema version "1.0"'),
    name: Name,
    /** Where it leads. Without it, `name` is looked up among the models of the configured providers. */
    provider: Name.optional(),
    model: Name.optional(),
    /** Several places, by weight; each is tried when another fails. Instead of `provider`. */
    routes: z.array(CardRoute).min(1).max(16).optional(),
    capabilities: z
      .array(Capability)
      .max(64)
      .superRefine((capabilities, context) => {
        const seen = new Set<string>();
        for (const [at, { type }] of capabilities.entries()) {
          if (seen.has(type)) {
            const message = `the capability "${type}" is there twice`;
            context.addIssue({ code: 'custom', path: [at, 'type'], message });
          }
          seen.add(type);
        }
      })
      .default([]),
    pricing: Pricing.optional(),
    contextWindow: z.int().min(1).optional(),
    maxOutputTokens: z.int().min(1).optional(),
  })
  .refine(({ provider, routes }) => provider === undefined || routes === undefined, {
    path: ['routes'],
    message: 'a card has a provider or routes, not both',
  });
export type CardContent = Readonly<z.infer<typeof CardContent>>;

/**
 * The body of a creation or a replacement. What a card has besides (`id`, `version`, its times) is passed over, so that
 * a card may be sent back as it was read.
 */
export const CardInput = z.object({
  /** The caller's own. */
  workspaceId: z.string().optional(),
  name: Name,
  /** On creation: else made from the name. On replacement: else it stays. */
  slug: Slug.optional(),
  description: Description.default(''),
  card: CardContent,
});
export type CardInput = Readonly<z.infer<typeof CardInput>>;

/** As the gateway shows it. */
export const ModelCard = z.object({
  id: z.string(),
  workspaceId: z.string(),
  name: Name,
  slug: Slug,
  description: z.string(),
  card: CardContent,
  /** Grows by one with every change. Its ETag. */
  version: z.int().min(1),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  /** Only where deleted cards were asked for. */
  deletedAt: z.iso.datetime().optional(),
});
export type ModelCard = Readonly<z.infer<typeof ModelCard>>;

/** What a card was at one time. */
export const CardVersion = z.object({
  version: z.int().min(1),
  name: Name,
  slug: Slug,
  description: z.string(),
  card: CardContent,
  createdAt: z.iso.datetime(),
  /** Who made it: `key:ID` or `oidc:SUBJECT`. */
  createdBy: z.string(),
});
export type CardVersion = Readonly<z.infer<typeof CardVersion>>;

export const SORTS = ['name', 'slug', 'createdAt', 'updatedAt'] as const;
export type Sort = (typeof SORTS)[number];

export const CardQuery = PageQuery.extend({
  /** The caller's own. */
  workspace_id: z.string().optional(),
  /** Words, or parts of words, that are all in the name, slug or description; capital or not. */
  q: z.string().max(200).optional(),
  slug: z.string().max(MAX_SLUG_CHARS).optional(),
  /** Of the card, or of one of its routes. */
  provider: z.string().max(MAX_NAME_CHARS).optional(),
  /** The type of a capability that is enabled. */
  capability: z.string().max(MAX_NAME_CHARS).optional(),
  /** `-` before it: descending. As they were made unless told, so that a new card moves no page. */
  sort: z
    .enum(
      SORTS.flatMap((sort) => [sort, `-${sort}`] as const),
      `one of ${SORTS.join(', ')}, with - before it for descending`,
    )
    .default('createdAt'),
  include_deleted: z.enum(['true', 'false'], 'true or false').default('false'),
});
export type CardQuery = Readonly<z.infer<typeof CardQuery>>;

export const CardPage = pageOf(ModelCard);
export const CardVersionPage = pageOf(CardVersion);
