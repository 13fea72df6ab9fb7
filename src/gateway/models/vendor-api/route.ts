/** The common parts of the routes that call a model. */
import type * as z from 'zod';

export const MODEL_ROUTE = { verb: 'POST', scope: 'tasks:write', resource: 'model' } as const;

/** Returns the responses of a route that calls a model, for `/openapi.json`. */
export function modelAnswers(description: string, schema: z.ZodType, alsoEvents = false) {
  return {
    200: { description, schema, alsoEvents },
    502: { description: 'The model failed' },
    504: { description: 'The model did not answer in time' },
  };
}

/** Like `modelAnswers`, for a route whose client can request server-sent events instead. */
export function streamAnswers(description: string, schema: z.ZodType) {
  return modelAnswers(description, schema, true);
}
