/**
 * The schemas of OpenAI requests and responses, with the fields that the gateway uses. Other fields are kept, because a
 * provider with the same API gets the client's own request. For other providers, request.ts rejects the fields in its
 * list UNSUPPORTED, if their values would change the answer.
 */
import * as z from 'zod';

const MAX_MESSAGES = 10_000;
const MAX_PARTS = 1000;
const MAX_TOOLS = 128;
const MAX_INPUTS = 2048;
const MAX_DIMENSIONS = 8192;

/** Content that is one text or a list of parts. */
function wordsOr<Part extends z.ZodType>(part: Part) {
  return z.union([z.string(), z.array(part).max(MAX_PARTS)]);
}

const Text = z.looseObject({ type: z.literal('text'), text: z.string() });
const Image = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string() }),
});
const Audio = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({ data: z.string(), format: z.enum(['wav', 'mp3']) }),
});
const File = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({ file_data: z.string().optional(), filename: z.string().optional() }),
});
const Refusal = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

const UserPart = z.discriminatedUnion('type', [Text, Image, Audio, File]);
export type UserPart = z.infer<typeof UserPart>;
const AssistantPart = z.discriminatedUnion('type', [Text, Refusal]);

const Words = wordsOr(Text);
const ToolPart = z.discriminatedUnion('type', [Text, Image, File]);

const ChatToolCall = z.looseObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
  /** The field in which clients of Google's models send the signature of a thought. */
  extra_content: z
    .looseObject({ google: z.looseObject({ thought_signature: z.string() }).optional() })
    .nullish(),
});
export type ChatToolCall = z.infer<typeof ChatToolCall>;

const ChatMessage = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: Words }),
  z.looseObject({ role: z.literal('developer'), content: Words }),
  z.looseObject({ role: z.literal('user'), content: wordsOr(UserPart) }),
  z.looseObject({
    role: z.literal('assistant'),
    content: wordsOr(AssistantPart).nullish(),
    tool_calls: z.array(ChatToolCall).max(MAX_TOOLS).nullish(),
    /** The thoughts of the model. DeepSeek and others use this name, and OpenRouter uses `reasoning`. */
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
  }),
  z.looseObject({
    role: z.literal('tool'),
    tool_call_id: z.string(),
    content: wordsOr(ToolPart),
  }),
]);
export type ChatMessage = z.infer<typeof ChatMessage>;

const Tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().min(1).max(64),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.json()).nullish(),
    strict: z.boolean().nullish(),
  }),
});

export type ChatFunction = z.infer<typeof Tool>['function'];

const ToolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.looseObject({
    type: z.literal('function'),
    function: z.looseObject({ name: z.string().min(1) }),
  }),
]);

export const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({ schema: z.record(z.string(), z.json()) }),
  }),
]);

export const Effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
export const Verbosity = z.enum(['low', 'medium', 'high']);

export const ChatMessages = z.array(ChatMessage).min(1).max(MAX_MESSAGES);

export const ChatBody = z.looseObject({
  model: z.string().min(1),
  messages: ChatMessages,
  tools: z.array(Tool).max(MAX_TOOLS).nullish(),
  tool_choice: ToolChoice.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  seed: z.int().nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  response_format: ResponseFormat.nullish(),
  reasoning_effort: Effort.nullish(),
  verbosity: Verbosity.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  n: z.int().min(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});
export type ChatBody = z.infer<typeof ChatBody>;

export const EmbeddingsBody = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(z.string()).min(1).max(MAX_INPUTS)], {
    error: 'must be a string or a list of strings',
  }),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(MAX_DIMENSIONS).nullish(),
});

const Usage = z.looseObject({ prompt_tokens: z.int(), total_tokens: z.int() });

/** The response schemas are used only for `/openapi.json`. */
export const ChatAnswer = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({ role: z.literal('assistant'), content: z.string().nullable() }),
      finish_reason: z.enum(['stop', 'length', 'tool_calls', 'content_filter']),
    }),
  ),
  usage: Usage,
});
export const EmbeddingsAnswer = z.looseObject({
  object: z.literal('list'),
  data: z.array(
    z.looseObject({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  model: z.string(),
  usage: Usage,
});
export const ModelObject = z.looseObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
});
export const ModelsAnswer = z.looseObject({
  object: z.literal('list'),
  data: z.array(ModelObject),
});
