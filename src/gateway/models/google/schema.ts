/**
 * The schemas of Google's Gemini API, with the fields that the gateway uses. Other fields are kept, because a provider
 * of the type `google` gets the client's own request.
 */
import * as z from 'zod';
import { isObject, type JsonObject } from '../../../base/index.ts';
import { camel } from './tool-schema.ts';

const MAX_CONTENTS = 100_000;
const MAX_PARTS = 10_000;
const MAX_TOOLS = 1024;
const MAX_STOPS = 64;
/** Maximum nesting depth of the API's own fields. Deeper fields are not normalized. */
const MAX_DEPTH = 12;

/** Fields whose values are data of the client. The names in these values are not changed. */
const DATA = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'labels',
]);
/** Fields whose values are lists. The API accepts a single item instead of a list. */
const LISTS = new Set(['contents', 'parts', 'tools', 'functionDeclarations', 'stopSequences']);

/**
 * Normalizes a request: converts the names in NAMES to camelCase, removes fields that are null, and converts single
 * items of the fields in LISTS to lists.
 */
function normalized(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => normalized(item, depth + 1));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).flatMap(([given, field]): [string, unknown][] => {
    if (field === null || field === undefined) return [];
    const name = NAMES.has(camel(given)) ? camel(given) : given;
    if (DATA.has(name)) return [[name, field]];
    const list = LISTS.has(name) && !Array.isArray(field) ? [field] : field;
    return [[name, normalized(list, depth + 1)]];
  });
  return Object.fromEntries(entries);
}

/** An object of the request's body. It is not checked further, because the body is JSON. */
const Json = z.custom<JsonObject>((value) => isObject(value), 'must be an object');

const GoogleFile = z.looseObject({
  inlineData: z
    .looseObject({ mimeType: z.string(), data: z.string(), displayName: z.string().optional() })
    .optional(),
  fileData: z.looseObject({ fileUri: z.string(), mimeType: z.string().optional() }).optional(),
});
export type GoogleFile = z.infer<typeof GoogleFile>;

const GooglePart = GoogleFile.extend({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  functionCall: z
    .looseObject({ id: z.string().optional(), name: z.string().min(1), args: Json.optional() })
    .optional(),
  functionResponse: z
    .looseObject({
      id: z.string().optional(),
      name: z.string().min(1),
      response: Json.optional(),
      parts: z.array(GoogleFile).max(MAX_PARTS).optional(),
    })
    .optional(),
});
export type GooglePart = z.infer<typeof GooglePart>;

const InputContent = z.looseObject({
  role: z.string().optional(),
  parts: z.array(GooglePart).max(MAX_PARTS).optional(),
});
export type InputContent = z.infer<typeof InputContent>;

const FunctionDeclaration = z.looseObject({
  name: z.string().min(1).max(128),
  description: z.string().optional(),
  parameters: Json.optional(),
  parametersJsonSchema: Json.optional(),
});

const GenerationConfig = z.looseObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().min(0).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  stopSequences: z.array(z.string()).max(MAX_STOPS).optional(),
  seed: z.int().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  candidateCount: z.int().optional(),
  responseMimeType: z.string().optional(),
  responseSchema: Json.optional(),
  responseJsonSchema: Json.optional(),
  responseModalities: z.array(z.string()).optional(),
  thinkingConfig: z
    .looseObject({
      includeThoughts: z.boolean().optional(),
      thinkingBudget: z.int().optional(),
      thinkingLevel: z.string().optional(),
    })
    .optional(),
});

const Fields = z.looseObject({
  contents: z.array(InputContent).min(1).max(MAX_CONTENTS),
  systemInstruction: InputContent.optional(),
  tools: z
    .array(
      z.looseObject({
        functionDeclarations: z.array(FunctionDeclaration).max(MAX_TOOLS).optional(),
      }),
    )
    .max(MAX_TOOLS)
    .optional(),
  toolConfig: z
    .looseObject({
      functionCallingConfig: z
        .looseObject({
          mode: z.string().optional(),
          allowedFunctionNames: z.array(z.string()).optional(),
        })
        .optional(),
    })
    .optional(),
  generationConfig: GenerationConfig.optional(),
  cachedContent: z.string().optional(),
});
/** Further fields whose names are normalized. `Fields` does not check them. */
const UNCHECKED = [
  'generateContentRequest',
  'responseLogprobs',
  'safetySettings',
  'serviceTier',
  'speechConfig',
];

/** The names that are converted to camelCase, because the API accepts them in snake_case too. */
const NAMES: ReadonlySet<string> = new Set([
  ...UNCHECKED,
  ...fieldsIn(z.toJSONSchema(Fields, { io: 'input', unrepresentable: 'any' })),
]);

/** Returns the names of all fields in a JSON Schema, at any depth. */
function fieldsIn(schema: unknown): string[] {
  if (!isObject(schema)) return [];
  const { properties } = schema;
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(fieldsIn)];
}

export const GenerateBody = z.preprocess((body) => normalized(body), Fields);
export type GenerateBody = z.infer<typeof GenerateBody>;

/** A request to count tokens. It has either the fields of a request, or a whole request in `generateContentRequest`. */
export const CountBody = z.preprocess(
  (body) => normalized(body),
  z.union([
    z.looseObject({ generateContentRequest: Fields }),
    Fields.extend({ generateContentRequest: z.undefined().optional() }),
  ]),
);
export type CountBody = z.infer<typeof CountBody>;

/** The response schemas are used only for `/openapi.json`. */
export const GenerateAnswer = z.looseObject({
  candidates: z.array(z.looseObject({ finishReason: z.string().optional() })).optional(),
  usageMetadata: z.looseObject({}).optional(),
});
export const CountAnswer = z.looseObject({ totalTokens: z.int() });
