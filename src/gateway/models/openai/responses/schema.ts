/**
 * The schemas of OpenAI's Responses API, with the fields that the gateway uses. Other fields are kept, because a
 * provider with the Responses API gets the client's own request. For other providers, request.ts rejects the known
 * fields that would change the answer and cannot be converted.
 */
import * as z from 'zod';
import { Effort, Verbosity } from '../schema.ts';

const MAX_ITEMS = 10_000;
const MAX_PARTS = 1000;
const MAX_TOOLS = 512;
const MAX_ID_CHARS = 256;

const Id = z.string().min(1).max(MAX_ID_CHARS);

const ItemPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.looseObject({ type: z.literal('input_image'), image_url: z.string().nullish() }),
  z.looseObject({
    type: z.literal('input_file'),
    file_data: z.string().nullish(),
    file_url: z.string().nullish(),
    filename: z.string().nullish(),
  }),
]);
export type ItemPart = z.infer<typeof ItemPart>;

const ItemContent = z.union([z.string(), z.array(ItemPart).max(MAX_PARTS)]);
export type ItemContent = z.infer<typeof ItemContent>;

export const MessageItem = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: ItemContent,
});
export const FunctionCallItem = z.looseObject({
  type: z.literal('function_call'),
  call_id: Id,
  name: z.string().min(1),
  arguments: z.string(),
});
export const CustomCallItem = z.looseObject({
  type: z.literal('custom_tool_call'),
  call_id: Id,
  name: z.string().min(1),
  input: z.string(),
});
export const CallOutputItem = z.looseObject({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  call_id: Id,
  output: ItemContent,
});
export const ReasoningItem = z.looseObject({
  type: z.literal('reasoning'),
  id: z.string().nullish(),
  summary: z.array(z.looseObject({ text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
});
export type ReasoningItem = z.infer<typeof ReasoningItem>;
/** An item of another type. Only providers with the Responses API support such items. */
const Other = z.looseObject({ type: z.string() });

export const Item = z.union([
  MessageItem,
  FunctionCallItem,
  CustomCallItem,
  CallOutputItem,
  ReasoningItem,
  Other,
]);
export type Item = z.infer<typeof Item>;

/**
 * A tool. All types other than `function` and `custom` are tools of the vendor. Only providers with the Responses API
 * support them.
 */
const ResponseTool = z.looseObject({
  type: z.string(),
  name: z.string().min(1).max(128).optional(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.json()).nullish(),
  strict: z.boolean().nullish(),
});
export type ResponseTool = z.infer<typeof ResponseTool>;

const Format = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.json()) }),
]);

export const ResponsesBody = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(Item).max(MAX_ITEMS)]).optional(),
  instructions: z.string().nullish(),
  tools: z.array(ResponseTool).max(MAX_TOOLS).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.looseObject({ type: z.string(), name: z.string().optional() }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  reasoning: z.looseObject({ effort: Effort.nullish(), summary: z.string().nullish() }).nullish(),
  text: z.looseObject({ format: Format.nullish(), verbosity: Verbosity.nullish() }).nullish(),
  include: z.array(z.string()).max(64).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  previous_response_id: Id.nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});
export type ResponsesBody = z.infer<typeof ResponsesBody>;

/** The response schema is used only for `/openapi.json`. */
export const ResponsesAnswer = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  status: z.enum(['completed', 'incomplete', 'failed', 'in_progress']),
  model: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
});

export const DeletedResponse = z.object({
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
});
