/**
 * Names of attributes by OpenTelemetry's semantic conventions for generative AI, and the general one that goes with
 * them. What was said is never an attribute.
 *
 * A span is what the caller asked for, with everything that was tried to get it. It is named
 * `{operation} {model or agent}`.
 */
export const GEN_AI = {
  /** One of GEN_AI_OPERATIONS. */
  operation: 'gen_ai.operation.name',
  /** `openai`, `anthropic`, `gcp.gemini`; else the configured provider's name, and for agents `a2a`. */
  provider: 'gen_ai.provider.name',
  /** As the caller calls it. */
  requestModel: 'gen_ai.request.model',
  /** As the provider calls it. */
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  thoughtTokens: 'gen_ai.usage.reasoning.output_tokens',
  /** The context of the task. */
  conversation: 'gen_ai.conversation.id',
  agentName: 'gen_ai.agent.name',
  maxTokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
} as const;

export const GEN_AI_OPERATIONS = {
  chat: 'chat',
  embeddings: 'embeddings',
  invokeAgent: 'invoke_agent',
} as const;

export const ERROR_TYPE = 'error.type';
