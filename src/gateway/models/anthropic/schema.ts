/**
 * The schemas of Anthropic's Messages API, with the fields that the gateway uses. Other fields are kept, because a
 * provider of the type `anthropic` gets the client's own request.
 *
 * The schema of blocks is loose, because Anthropic also gets blocks of unknown types. request.ts checks the blocks only
 * if the request is converted for another provider.
 */
import * as z from 'zod';
import { isObject, type JsonObject } from '../../../base/index.ts';

const MAX_MESSAGES = 100_000;
const MAX_BLOCKS = 10_000;
const MAX_TOOLS = 1024;
const MAX_STOPS = 64;

/** An object of the request's body. Its members are not checked: the body was parsed from JSON, so they are JSON. */
const Json = z.custom<JsonObject>((value) => isObject(value), 'must be an object');

const Block = z.looseObject({ type: z.string() });
export type Block = z.infer<typeof Block>;

const BlockList = z.union([z.string(), z.array(Block).max(MAX_BLOCKS)], {
  error: 'must be a string or a list of blocks',
});
export type BlockList = z.infer<typeof BlockList>;

/** A message of the conversation. A system message may have only settings and no content. */
const InputMessage = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: BlockList.optional(),
});
export type InputMessage = z.infer<typeof InputMessage>;

export const AnthropicTool = z.looseObject({
  type: z.string().nullish(),
  name: z.string().min(1).max(128).optional(),
  description: z.string().nullish(),
  input_schema: Json.optional(),
  strict: z.boolean().nullish(),
});

export type AnthropicTool = z.infer<typeof AnthropicTool>;

const ToolChoice = z.looseObject({
  type: z.enum(['auto', 'any', 'tool', 'none']),
  name: z.string().optional(),
  disable_parallel_tool_use: z.boolean().nullish(),
});

const OutputConfig = z.looseObject({
  effort: z.string().nullish(),
  format: z.looseObject({ type: z.string(), schema: Json.optional() }).nullish(),
});

/** The fields of a request that determine its input tokens. */
export const CountBody = z.looseObject({
  model: z.string().min(1),
  messages: z.array(InputMessage).min(1).max(MAX_MESSAGES),
  system: BlockList.nullish(),
  tools: z.array(AnthropicTool).max(MAX_TOOLS).nullish(),
  tool_choice: ToolChoice.nullish(),
  thinking: z
    .looseObject({
      type: z.string(),
      display: z.string().nullish(),
      budget_tokens: z.number().optional(),
    })
    .nullish(),
  output_config: OutputConfig.nullish(),
});
export type CountBody = z.infer<typeof CountBody>;

export const MessagesBody = CountBody.extend({
  /** Maximum number of output tokens. With 0, Anthropic only fills its cache. */
  max_tokens: z.int().min(0),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  stop_sequences: z.array(z.string()).max(MAX_STOPS).nullish(),
  stream: z.boolean().nullish(),
});
export type MessagesBody = z.infer<typeof MessagesBody>;

const TextBlock = z.looseObject({ text: z.string() });
const Source = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.looseObject({ type: z.literal('url'), url: z.string() }),
  z.looseObject({ type: z.literal('text'), data: z.string() }),
  z.looseObject({ type: z.literal('content'), content: BlockList }),
]);
export type Source = z.infer<typeof Source>;

/** The blocks that can be converted for any provider, by their type. */
export const BLOCKS = {
  text: TextBlock,
  image: z.looseObject({ source: Source }),
  document: z.looseObject({
    source: Source,
    title: z.string().nullish(),
    context: z.string().nullish(),
  }),
  search_result: z.looseObject({
    source: z.string(),
    title: z.string(),
    content: z.array(TextBlock),
  }),
  thinking: z.looseObject({ thinking: z.string(), signature: z.string() }),
  redacted_thinking: z.looseObject({ data: z.string() }),
  tool_use: z.looseObject({ id: z.string().min(1), name: z.string().min(1), input: Json }),
  tool_result: z.looseObject({
    tool_use_id: z.string().min(1),
    content: BlockList.nullish(),
    is_error: z.boolean().nullish(),
  }),
  tool_reference: z.looseObject({ tool_name: z.string() }),
};

/** A block of a system message that changes the tools. Its type is `tool_addition` or `tool_removal`. */
export const ToolChangeBlock = z.looseObject({
  tool: z.union([
    z.looseObject({ type: z.literal('tool_reference'), name: z.string() }),
    z.looseObject({ type: z.literal('tool_definition'), definition: AnthropicTool }),
  ]),
});

/** The response schemas are used only for `/openapi.json`. */
export const MessageAnswer = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(Block),
  stop_reason: z.enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']),
  stop_sequence: z.string().nullable(),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }),
});
export const CountAnswer = z.looseObject({ input_tokens: z.int() });
