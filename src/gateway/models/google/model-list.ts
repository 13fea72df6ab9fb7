/** The list of models in Google's format. */
import * as z from 'zod';
import { defined } from '../../../base/index.ts';
import { whole } from '../../api/fields.ts';
import type { ListedModel } from '../catalogue.ts';

const MAX_PAGE = 1000;
const DEFAULT_PAGE = 50;
const METHODS = ['generateContent', 'countTokens'];

/** Selects a page of the list. The token of a page is the number of models before the page. */
export const ModelsQuery = z.object({
  pageSize: whole(1, MAX_PAGE, DEFAULT_PAGE),
  pageToken: whole(0, undefined, 0),
});

/** The response schemas are used only for `/openapi.json`. */
export const ModelResource = z.looseObject({ name: z.string(), displayName: z.string() });
export const ModelResources = z.looseObject({
  models: z.array(ModelResource),
  nextPageToken: z.string().optional(),
});

export function modelPage(
  models: readonly ListedModel[],
  { pageSize, pageToken: start }: z.infer<typeof ModelsQuery>,
): z.infer<typeof ModelResources> {
  const end = start + pageSize;
  return {
    models: models.slice(start, end).map(modelResource),
    ...(end < models.length && { nextPageToken: String(end) }),
  };
}

export function modelResource({ name, limits }: ListedModel): z.infer<typeof ModelResource> {
  const { contextWindow: inputTokenLimit, maxOutputTokens: outputTokenLimit } = limits ?? {};
  return {
    name: `models/${name}`,
    baseModelId: name,
    version: '1',
    displayName: name,
    ...defined({ inputTokenLimit, outputTokenLimit }),
    supportedGenerationMethods: METHODS,
  };
}
