/** The list of models in Anthropic's format, for clients that send `anthropic-version`. */
import * as z from 'zod';
import { A2AError } from '../../../protocol/index.ts';
import { whole } from '../../api/fields.ts';
import type { ListedModel } from '../catalogue.ts';

const MAX_PAGE = 1000;
const DEFAULT_PAGE = 20;

/**
 * Selects a page of at most `limit` models: the models directly after `after_id`, the models directly before
 * `before_id`, or the first models. With both ids, the page begins after `after_id` and ends before `before_id`.
 */
export const ModelsQuery = z.object({
  limit: whole(1, MAX_PAGE, DEFAULT_PAGE),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
});

/** The response schemas are used only for `/openapi.json`. */
export const ModelInfo = z.looseObject({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: z.string(),
});
export const ModelInfoPage = z.looseObject({
  data: z.array(ModelInfo),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

/**
 * Returns a page of the models. Throws `invalidParams` if there is no model with the id in `after_id` or `before_id`.
 */
export function modelInfoPage(
  models: readonly ListedModel[],
  { limit, after_id: after, before_id: before }: z.infer<typeof ModelsQuery>,
): z.infer<typeof ModelInfoPage> {
  const place = (field: string, id: string): number => {
    const index = models.findIndex(({ name }) => name === id);
    if (index >= 0) return index;
    throw new A2AError('invalidParams', `${field}: there is no model ${JSON.stringify(id)}`);
  };
  const end = before === undefined ? models.length : place('before_id', before);
  const start =
    after === undefined
      ? Math.max(0, before === undefined ? 0 : end - limit)
      : place('after_id', after) + 1;
  const page = models.slice(start, Math.min(end, start + limit));
  return {
    data: page.map(modelInfo),
    has_more: before === undefined ? start + page.length < end : start > 0,
    first_id: page[0]?.name ?? null,
    last_id: page.at(-1)?.name ?? null,
  };
}

export function modelInfo({ name, createdAt = 0, limits }: ListedModel): z.infer<typeof ModelInfo> {
  return {
    type: 'model',
    id: name,
    display_name: name,
    created_at: new Date(createdAt).toISOString(),
    // A model card has no capabilities in Anthropic's format.
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: limits?.contextWindow ?? null,
    max_tokens: limits?.maxOutputTokens ?? null,
    retires_at: null,
  };
}
