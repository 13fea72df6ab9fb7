/** A model card: what a model is called, what it can do, what it costs, and where it leads. */
import * as z from 'zod';

export const MAX_SLUG_CHARS = 128;

/** As it stands in addresses and in `metadata.model`. */
export const Slug = z
  .string()
  .min(1)
  .max(MAX_SLUG_CHARS)
  .regex(/^[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?$/i, 'letters, digits and . _ - : / between them');

const Name = z.string().min(1).max(256);
const Price = z.number().min(0).max(1);

export const Pricing = z.looseObject({
  inputPricePerToken: Price,
  outputPricePerToken: Price,
  /** For input that came from the vendor's cache; else it costs as much as other input. */
  cachedInputPricePerToken: Price.optional(),
  currency: z.string().regex(/^[A-Z]{3}$/, 'three letters, as in USD'),
});
export type Pricing = Readonly<z.infer<typeof Pricing>>;

export const Capability = z.looseObject({
  type: z.string().min(1).max(64),
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
    schemaVersion: z.literal('1.0', 'this gateway knows schema version 1.0'),
    name: Name,
    /** Where it leads. Without it, `name` is looked up among the models of the configured providers. */
    provider: Name.optional(),
    model: Name.optional(),
    /** Several places, by weight; each is tried when another fails. Instead of `provider`. */
    routes: z.array(CardRoute).min(1).max(16).optional(),
    capabilities: z.array(Capability).max(64).default([]),
    pricing: Pricing.optional(),
    contextWindow: z.int().min(1).optional(),
    maxOutputTokens: z.int().min(1).optional(),
  })
  .refine(({ provider, routes }) => provider === undefined || routes === undefined, {
    path: ['routes'],
    message: 'a card has a provider or routes, not both',
  });
export type CardContent = Readonly<z.infer<typeof CardContent>>;

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
});
export type ModelCard = Readonly<z.infer<typeof ModelCard>>;
